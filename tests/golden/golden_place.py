"""The place of a suite case: directories of its own with the files that it wants, and the environment of its `Ohm`."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from golden_recording import Json
from golden_suites import Case, filled

from ohm_subagents.suites.single.settings import FILE

SETUP = frozenset(
    {"files", "global_profiles", "project_profiles", "global_skills", "project_skills", "global_settings"}
    | {"project_settings", "sessions", "session_entries", "branch", "children", "child", "child_runs", "clock", "theme"}
    | {"width", "terminal_columns", "abort_parent_at", "has_ui", "env", "tools", "active_tools", "parent_tools"}
    | {
        "todos",
        "send_throws",
        "send_user_message_raises",
        "widget_throws",
        "config",
        "user_agents",
        "project_agents",
        "call_executor_directly",
    }
    | {"prompts"}
)
"""The setup of a case, in the suites that the library has; and `append…`, a session log that cannot be written."""


def _is_literal(case: Case) -> bool:
    """Return True if `$HOME` is what somebody typed: a function is given it, and has to give it back."""
    return "fn" in case.call and "$HOME" in json.dumps(case.call) and "$HOME" in json.dumps(case.expect)


@dataclass(frozen=True, kw_only=True)
class Place:
    """The directories of one case."""

    cwd: Path
    agent_dir: Path
    home: Path

    @classmethod
    def below(cls, root: Path) -> "Place":
        place = cls(cwd=root / "project", agent_dir=root / "agent", home=root / "home")
        for directory in (place.cwd, place.agent_dir, place.home):
            directory.mkdir()
        return place

    @property
    def names(self) -> Mapping[str, str]:
        """Return what the placeholders of the file stand for."""
        return {"$AGENT_DIR": str(self.agent_dir), "$CWD": str(self.cwd), "$HOME": str(self.home)}

    def env(self, patch: Mapping[str, str | None]) -> dict[str, str]:
        """The environment of the `Ohm`; nothing of the machine is read. None unsets."""
        ours = {
            "HOME": str(self.home),
            "PATH": os.defpath,
            "PI_CODING_AGENT_DIR": str(self.agent_dir),
            "OHM_SUBAGENTS_LOAD_PLUGINS": os.environ.get("OHM_TEST_PLUGINS", "none"),
            "OHM_SUBAGENTS_STORE": "memory",
        }
        return {name: value for name, value in {**ours, **patch}.items() if value is not None}

    def filled(self, case: Case) -> Case:
        """The case with everything that its markers and placeholders stand for. What nobody knows is an error."""
        setup = filled(case.setup, self.names)
        names = {name: path for name, path in self.names.items() if name != "$HOME" or not _is_literal(case)}
        call, expect = filled(case.call, names), filled(case.expect, names)
        if unknown := {key for key in setup if key not in SETUP and not key.startswith("append")}:
            message = f"Case {case.id} sets up {sorted(unknown)}, which this runner does not know."
            raise ValueError(message)
        return Case(id=case.id, suite=case.suite, setup=setup, call=call, expect=expect)

    def prepare(self, setup: Json) -> None:
        """Write the files that the case wants."""
        local = self.cwd / ".pi"
        for key, folder in {
            "files": self.cwd,
            "global_profiles": self.agent_dir / "agent-profiles",
            "project_profiles": local / "agent-profiles",
            "global_skills": self.agent_dir / "skills",
            "project_skills": local / "skills",
            "user_agents": self.agent_dir / "agents",
            "project_agents": local / "agents",
            "prompts": self.cwd / "prompts",
        }.items():
            for name, content in setup.get(key, {}).items():
                _write(folder, name, content)
        if not setup.get("call_executor_directly"):
            self.configure_devkit(setup)
        for key, folder in {"global_settings": self.agent_dir, "project_settings": local}.items():
            if key in setup:
                content = setup[key]
                _write(folder, "settings.json", content if isinstance(content, str | bytes) else json.dumps(content))

    def configure_devkit(self, setup: Json) -> None:
        """Write the settings of 001, if the case has any. A tool that is there before then meets them in its calls."""
        if "config" in setup:
            _write(self.agent_dir, str(FILE), json.dumps(setup["config"]))


def _write(folder: Path, name: str, content: Any) -> None:
    """A file, or a directory if the name ends so."""
    path = folder / name
    if name.endswith("/"):
        path.mkdir(parents=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
