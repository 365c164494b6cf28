"""The suite `delegate`: four tools for parallel sub-agents with profiles, and their commands. Never another suite.

`suite.build` makes the tools, `inputs.parse_delegation` reads a call, `delegation.Delegation` makes a start of it, with
a `subagent.SubAgent` for each task; `agents.load_agents` reads the files of profiles, `rules.conflict` refuses some,
`settings.load_settings` and `skills.discover` read the rest; `sessions.Sessions` keeps what may be continued;
`outcome.result_text` and `windows.windows_text` write what is read and seen.
"""

from typing import Final

SUITE: Final = "delegate"
"""The name of the suite, and of its default agent in rules and settings of ohm.json."""
FOLDER: Final = "agent-profiles"
"""The folder of agent profiles in the agent directory, and in `.pi` of a project."""
SKILLS: Final = "skills"
"""The folder of skills beside it."""
