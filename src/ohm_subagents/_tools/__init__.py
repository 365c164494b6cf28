"""The tools of a parent agent: `task`, the direct tools of primary profiles, and the parts that all suites share.

`tool.run_command` carries out a call, `tool.result_of` makes its result, `redacting.redacted_result` takes the secrets
out, `mounting.mount` gives each name to one tool, `updates.Frames` shows progress, `live_ui.LiveUi` draws the widget of
a host. Never the tools of subagents, which live with their backend, though `mounting.safe_tool` redacts what those of
suites return; never the engine, which a tool reaches by `Executor`.
"""
