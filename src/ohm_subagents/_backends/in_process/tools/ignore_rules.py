"""Which files `.gitignore` and `.ignore` hide, as ripgrep sees it. The tree brings the rules: they may be hostile."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ohm_subagents._backends.in_process.regular_file import read_file
from ohm_subagents._backends.in_process.tools.globs import Wanted, plain_glob
from ohm_subagents._backends.in_process.tools.text_file import decode

_MAX_RULES_BYTES = 1_000_000
_MAX_LINE_CHARS = 1000


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line of an ignore file in `directory`."""

    directory: Path
    matches: Wanted
    hides: bool
    directories_only: bool

    def verdict(self, path: Path, *, is_dir: bool) -> bool | None:
        """What the rule says about `path`, if anything."""
        if self.directories_only and not is_dir:
            return None
        return self.hides if self.matches(path.relative_to(self.directory).as_posix()) else None


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules in force, strongest first. `.ignore` beats `.gitignore`, which needs a repository."""

    ignore: tuple[_Rule, ...] = ()
    gitignore: tuple[_Rule, ...] = ()
    in_repository: bool = False

    @classmethod
    def above(cls, directory: Path) -> "IgnoreRules":
        """The rules that hold in `directory` from the directories above it."""
        rules = cls()
        for parent in reversed(directory.parents):
            rules = rules.entering(parent)
        return rules

    def entering(self, directory: Path) -> "IgnoreRules":
        """The rules inside `directory`."""
        is_repository = (directory / ".git").exists()
        in_repository = self.in_repository or is_repository
        gitignore = () if is_repository else self.gitignore
        if is_repository:
            gitignore = tuple(_rules(directory, directory / ".git" / "info" / "exclude"))
        if in_repository:
            gitignore = (*_rules(directory, directory / ".gitignore"), *gitignore)
        ignore = (*_rules(directory, directory / ".ignore"), *self.ignore)
        return IgnoreRules(ignore, gitignore, in_repository)

    def hides(self, path: Path, *, is_dir: bool) -> bool:
        """Whether the strongest rule that speaks about `path` leaves it out."""
        for rule in (*self.ignore, *self.gitignore):
            verdict = rule.verdict(path, is_dir=is_dir)
            if verdict is not None:
                return verdict
        return False


def _rules(directory: Path, file: Path) -> Iterator[_Rule]:
    """The rules of an ignore file: the last line that matches decides, so it comes first."""
    data = read_file(file, _MAX_RULES_BYTES) or b""
    for line in reversed(decode(data).splitlines()):
        pattern = line.rstrip(" ") + (" " if line.rstrip(" ").endswith("\\") and line.endswith(" ") else "")
        if not pattern.strip("/") or pattern.startswith("#") or len(pattern) > _MAX_LINE_CHARS:
            continue
        is_negated = pattern.startswith("!")
        body = pattern.removeprefix("!")
        path = body.rstrip("/")
        yield _Rule(directory, plain_glob(path, rooted="/" in path), not is_negated, body.endswith("/"))
