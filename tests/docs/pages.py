"""The pages of the documentation: their blocks of code, and a reader who follows one from the top to the bottom.

A reader starts with an empty home and an empty directory, and keeps both to the end of the page.

| block | what the reader does |
| --- | --- |
| `python` | runs it; a `text` block right below it is what it prints |
| `console` | runs each `$ ohm …` or `$ pytest …` and compares the lines below it; after one that fails, `$ echo $?` |
| `json`, `jsonc` | uses it as ohm.json: it loads without a diagnostic |
| `toml` | parses it |
| any, below `<!-- file: path -->` | writes it to that file |
| any, below `<!-- not run: reason -->` | reads it |

In what is printed, `...` stands for anything.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import anyio
import leaks
import pytest
from command_line import in_this_process

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("plugins/*/README.md"))]
FENCE = re.compile(
    r"(?:^<!-- (?P<mark>[a-z -]+): (?P<value>[^\n]+) -->\n\n?)?^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
INERT = {"text", "mermaid"}
EXPECTED = doctest.OutputChecker()


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    text: str
    mark: str = ""
    value: str = ""
    printed: str | None = None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = [*FENCE.finditer(text)]
    made = []
    for one, following in zip_longest(found, found[1:]):
        is_printed = following and following["language"] == "text" and not text[one.end() : following.start()].strip()
        printed = following["text"] if is_printed and one["language"] == "python" else None
        made.append(Block(one["language"], one["text"], one["mark"] or "", one["value"] or "", printed))
    return made


def block(page: Path, mark: str, value: str) -> str:
    (text,) = (one.text for one in blocks(page) if (one.mark, one.value) == (mark, value))
    return text


def hermetic() -> dict[str, str]:
    """Nothing of this machine's user, and no key; the index of this repository is kept for the next of these tests."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_MODEL"))}
    return kept | HERMETIC | {"XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}


@dataclass
class Reader:
    """Somebody who does what a page says, in `place`."""

    place: Path
    env: dict[str, str] = field(default_factory=dict)
    returncode: int = 0

    def __post_init__(self) -> None:
        self.home.mkdir()
        self.project.mkdir()
        self.env |= {
            "PATH": os.environ["PATH"],
            leaks.MARKER: os.environ[leaks.MARKER],
            "HOME": str(self.home),
            "OHM_SUBAGENTS_LOAD_PLUGINS": HERMETIC["OHM_SUBAGENTS_LOAD_PLUGINS"],
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(self.project),
        }

    @property
    def home(self) -> Path:
        return self.place / "home"

    @property
    def project(self) -> Path:
        return self.place / "project"

    def follow(self, block: Block) -> None:
        match block:
            case Block(mark="not run" | "command"):
                pass
            case Block(mark="file"):
                self.write(block.value, block.text)
            case Block(mark="" | "table"):
                getattr(self, f"_{block.language}", self._unknown)(block)
            case _:
                pytest.fail(f"no such mark: {block.mark}")

    def write(self, path: str, text: str) -> None:
        file = self.home / path[2:] if path.startswith("~/") else self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def _unknown(self, block: Block) -> None:
        assert block.language in INERT, f"a block of {block.language} is a file, or says why it is not run"

    def _python(self, block: Block) -> None:
        same(block.printed or "", self.run(block.text))

    def run(self, program: str) -> str:
        """Run it as a program of its own would, and return what it prints."""
        module = ModuleType("__main__")
        out = io.StringIO()
        before = Path.cwd()
        os.chdir(self.project)
        known, main = {*sys.modules}, sys.modules["__main__"]
        sys.modules["__main__"] = module
        try:
            with (
                patch.dict(os.environ, self.env, clear=True),
                patch.object(sys, "path", [str(self.project), *sys.path]),
                contextlib.redirect_stdout(out),
            ):
                exec(compile(program, "<block>", "exec", dont_inherit=True), vars(module))
        finally:
            os.chdir(before)
            sys.modules["__main__"] = main
            for name in {*sys.modules} - known:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(str(self.project)):
                    del sys.modules[name]
        return out.getvalue()

    def _console(self, block: Block) -> None:
        for step in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, printed = step.partition("\n")
            while command.endswith("\\"):
                more, _, printed = printed.partition("\n")
                command = command[:-1] + more.removeprefix(">").lstrip()
            is_said = command == "echo $?"
            assert is_said or not self.returncode, f"before {command}: exit code {self.returncode}, which is not shown"
            same(printed, self.command(command), command)
            self.returncode = 0 if is_said else self.returncode
        assert not self.returncode, f"exit code {self.returncode} of {command}, which is not shown"

    def command(self, command: str) -> str:
        words = [word.replace("~", str(self.home)) for word in shlex.split(command)]
        env = dict(self.env)
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            env[name] = value
        given = b""
        target = None
        if ">" in words:
            target = self.project / words[-1]
            words = words[:-2]
        if "<" in words:
            given = (self.project / words[-1]).read_bytes()
            words = words[:-2]
        match words:
            case ["ohm", *arguments]:
                done = in_this_process(*arguments, cwd=self.project, env=env, stdin=given)
                self.returncode, printed = done.returncode, done.stdout + done.stderr
            case ["pytest", *arguments]:
                started = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
                ended = subprocess.run(started, cwd=self.project, env=env, capture_output=True, text=True, check=False)
                self.returncode, printed = ended.returncode, ended.stdout + ended.stderr
            case ["python", file]:
                printed = self.run((self.project / file).read_text(encoding="utf-8"))
            case ["echo", "$?"]:
                printed = f"{self.returncode}\n"
            case _:
                pytest.fail(f"no such command: {command}")
        if target:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(printed, encoding="utf-8")
            return ""
        return printed

    def _jsonc(self, block: Block) -> None:
        place = self.place / "configuration"
        place.mkdir(exist_ok=True)
        (place / "ohm.json").write_text(block.text, encoding="utf-8")

        env = HERMETIC | {"PI_CONFIG_DIR": str(place)}
        del env["OHM_SUBAGENTS_LOAD_PLUGINS"]  # the plugins of this repository are installed, and have pages too

        async def diagnostics() -> list[str]:
            async with Ohm.open(env=env, cwd=self.place) as ohm:
                return [str(one) for one in ohm.diagnostics]

        assert anyio.run(diagnostics) == []

    def _json(self, block: Block) -> None:
        json.loads(block.text)
        self._jsonc(block)

    def _toml(self, block: Block) -> None:
        tomllib.loads(block.text)


def same(wanted: str, got: str, what: str = "") -> None:
    is_same = EXPECTED.check_output(wanted, got, doctest.ELLIPSIS)
    assert is_same, f"{what}\n--- the page says\n{wanted}--- it prints\n{got}"
