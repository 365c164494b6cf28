"""The rows of the benchmark, in this order."""

from capacity_rows import capacity
from command_rows import commands
from cooperation_rows import deliveries, routes
from engine_rows import calls, cancellations, charges, events, fan_outs, queues, starts, turns
from process_rows import child_tool_calls, editor_prompts, follow_ups, imports, mcp_calls
from search_rows import searches
from workspace_rows import clones, plain_clones

ROWS = {
    row.name: row
    for row in (
        calls(),
        turns(),
        starts(),
        events(),
        charges(),
        deliveries(),
        routes(),
        fan_outs(),
        cancellations(),
        queues(),
        capacity(),
        imports(),
        commands(),
        follow_ups(),
        mcp_calls(),
        editor_prompts(),
        child_tool_calls(),
        searches(),
        clones(),
        plain_clones(),
    )
}
