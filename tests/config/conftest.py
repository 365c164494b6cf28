"""Real files in a home of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from ohm_subagents._config.load import LoadedConfig, load_config
from ohm_subagents._config.trust import Covers, trust_everything
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.errors import OhmError


@dataclass(frozen=True)
class Home:
    """A user's directory and a project's directory."""

    user: Path
    cwd: Path

    def write(self, *, user: str | None = None, project: str | None = None) -> None:
        if user is not None:
            (self.user / "ohm.json").write_text(user, encoding="utf-8")
        if project is not None:
            (self.cwd / ".pi").mkdir(exist_ok=True)
            (self.cwd / ".pi" / "ohm.json").write_text(project, encoding="utf-8")

    def load(self, *, trusts: Covers = trust_everything, **env: str) -> LoadedConfig:
        """Return what both files say, in a project that its user trusts."""
        loaded = load_config(cwd=self.cwd, config=None, env=self.env(**env), trusts=trusts)
        assert not isinstance(loaded, Err), loaded
        return loaded.ok_value

    def fail(self, **env: str) -> OhmError:
        loaded = load_config(cwd=self.cwd, config=None, env=self.env(**env))
        assert isinstance(loaded, Err), loaded
        return loaded.err_value

    def env(self, **env: str) -> dict[str, str]:
        return {"PI_CONFIG_DIR": str(self.user), "HOME": str(self.user.parent), **env}

    def told(self, loaded: LoadedConfig) -> list[str]:
        """The diagnostics without their columns, and with short names in place of the temporary directories."""
        return [self._short(replace(one, column=None)) for one in loaded.diagnostics]

    def placed(self, loaded: LoadedConfig) -> list[str]:
        """The same with their columns."""
        return [self._short(one) for one in loaded.diagnostics]

    def _short(self, diagnostic: Diagnostic) -> str:
        return str(diagnostic).replace(str(self.user), "~").replace(str(self.cwd / ".pi"), ".pi")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    user, cwd = tmp_path / "user", tmp_path / "project"
    user.mkdir()
    cwd.mkdir()
    return Home(user=user, cwd=cwd)
