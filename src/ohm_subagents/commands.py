"""The door for commands that plugins bring to `ohm`.

Name a typer app or a function by an entry point of the group `ohm_subagents.commands`; its name is the command. Nothing
is imported before the command is run, so keep heavy imports inside of functions:

```toml
[project.entry-points."ohm_subagents.commands"]
review = "ohm_review.commands:review"
```
"""

from ohm_subagents._plugins.commands import COMMAND_GROUP, InstalledCommand, installed_commands

__all__ = ["COMMAND_GROUP", "InstalledCommand", "installed_commands"]
