"""Checks of an outcome: what the work of a subagent has to pass, and the evidence of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final, Literal, cast, get_args

from ohm_subagents._records import dataclass
from ohm_subagents.contract.result import Err, Ok, Result

Verified = Literal["passed", "failed", "not_run"]
CheckKind = Literal["file", "run"]
MOST_CHECKS: Final = 20
"""So many checks has a task at most, those of its profile and of its call together."""
CHECK_CHARS: Final = 2000
SECONDS: Final = 300
"""All checks of a run together may take so long, where nothing else is said."""
MOST_SECONDS: Final = 3600
ALLOWED: Final = (
    "a list of checks such as 'file: out.md' and 'run: pytest -q', or an object with such a list as 'checks' and "
    "perhaps 'require', 'retry' and 'seconds'"
)
_KEYS: Final = ("checks", "require", "retry", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of the outcome of a task."""

    kind: CheckKind
    """`file`: a file is there and is not empty. `run`: a command line ends with exit code 0."""
    target: str
    """The path of the file, relative to the working directory; or the command line."""
    by_model: bool = False
    """A model has written it: its command is held to the rules of `bash`, as one of a tool call."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """The checks that the outcome of a task has to pass, and what follows if it does not."""

    checks: tuple[Check, ...]
    """The checks, in the order in which they run."""
    require: bool = False
    """A task whose outcome does not pass fails; its answer is kept."""
    retry: bool = False
    """The subagent is told once what failed, and goes on."""
    seconds: int = SECONDS
    """All checks of a run together may take so long."""

    def __str__(self) -> str:
        words = [word for word, is_set in (("required", self.require), ("told once", self.retry)) if is_set]
        return f"{', '.join(map(str, self.checks))} ({', '.join([*words, f'{self.seconds} s'])})"

    def joined(self, other: Acceptance | None) -> Acceptance:
        """Return the demands of both: neither takes away from the other."""
        if other is None:
            return self
        return Acceptance(
            checks=tuple(dict.fromkeys((*self.checks, *other.checks))),
            require=self.require or other.require,
            retry=self.retry or other.retry,
            seconds=max(self.seconds, other.seconds),
        )

    def without_commands(self) -> Acceptance | None:
        """Return what is left without the checks that run a command; None for nothing."""
        files = tuple(one for one in self.checks if one.kind == "file")
        return replace(self, checks=files) if files else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The evidence of one check."""

    check: str
    """The check, as it was written."""
    verdict: Verified
    """`not_run` for one that could not be run, or for which no time was left."""
    why: str = ""
    """The reason of another verdict than `passed`, in one sentence."""
    exit_code: int | None = None
    """The exit code of the command."""
    duration_ms: int = 0
    """The time that it took, in milliseconds."""
    output: str = ""
    """The end of what the command wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeChecked:
    """The checks of the outcome have run after an answer, or could not be run."""

    TEXTS: ClassVar[tuple[str, ...]] = ()
    verified: Verified
    """`failed` if any check failed, `passed` if all passed."""
    checks: tuple[CheckResult, ...]
    """The evidence of each check."""
    attempt: int = 1
    """1, and 2 after the subagent was told what failed."""
    kind: Literal["outcome_checked"] = "outcome_checked"


def verdict_of(results: tuple[CheckResult, ...]) -> Verified:
    """Return the verdict of all checks together."""
    found = {one.verdict for one in results}
    return "failed" if "failed" in found else "not_run" if "not_run" in found else "passed"


def read_acceptance(value: object, *, by_model: bool = False) -> Result[Acceptance | None, str]:
    """Read `accept` of a profile or a call, or say in one sentence what is wrong; None stays None."""
    if value is None or isinstance(value, Acceptance):
        return Ok(value)
    given: object = {"checks": cast("object", value)} if isinstance(value, list | tuple) else value
    if not isinstance(given, Mapping):
        return Err(f"it is {value!r:.60}; allowed: {ALLOWED}")
    fields = cast("Mapping[object, object]", given)
    unknown = next((key for key in fields if key not in _KEYS), None)
    if unknown is not None:
        return Err(f"it has the unknown key {unknown!r:.60}; allowed: {', '.join(_KEYS)}")
    for key in ("require", "retry"):
        if not isinstance(fields.get(key, False), bool):
            return Err(f"'{key}' is {fields[key]!r:.60}; allowed: true or false")
    seconds = fields.get("seconds", SECONDS)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 1 <= seconds <= MOST_SECONDS:
        return Err(f"'seconds' is {seconds!r:.60}; allowed: a whole number from 1 to {MOST_SECONDS}")
    checks = _checks(fields.get("checks"), by_model=by_model)
    if isinstance(checks, Err):
        return checks
    require, retry = fields.get("require") is True, fields.get("retry") is True
    return Ok(Acceptance(checks=checks.ok_value, require=require, retry=retry, seconds=seconds))


def _checks(value: object, *, by_model: bool) -> Result[tuple[Check, ...], str]:
    texts = tuple(cast("list[object]", value)) if isinstance(value, list | tuple) else ()
    if not texts:
        said = "'checks' is missing" if value is None else f"'checks' is {value!r:.60}"
        return Err(f"{said}; allowed: a list with at least one check, such as 'file: out.md' or 'run: pytest -q'")
    if len(texts) > MOST_CHECKS:
        return Err(f"it has {len(texts)} checks; at most {MOST_CHECKS} are allowed")
    found: list[Check] = []
    for text in texts:
        check = _check(text, by_model=by_model)
        if isinstance(check, str):
            return Err(check)
        found.append(check)
    return Ok(tuple(dict.fromkeys(found)))


def _check(written: object, *, by_model: bool) -> Check | str:
    """Return the check, or what is wrong with it. In YAML, `file: out.md` without quotes is an object of one key."""
    text = written
    if isinstance(written, Mapping):
        pairs = [f"{key}: {value}" for key, value in cast("Mapping[object, object]", written).items()]
        text = pairs[0] if len(pairs) == 1 else pairs
    kind, colon, rest = text.partition(":") if isinstance(text, str) else ("", "", "")
    kind, target = kind.strip(), rest.strip()
    if not colon or kind not in get_args(CheckKind) or not target:
        return f"{written!r:.60} is no check; allowed: 'file: <path>' or 'run: <command line>'"
    if "\0" in target or len(target) > CHECK_CHARS:
        most = f"{CHECK_CHARS} characters without NUL"
        return f"the check {written!r:.60} is too long, or holds a NUL character; allowed: {most}"
    if kind == "run":
        return Check(kind="run", target=target, by_model=by_model)
    if target.startswith(("/", "~")) or ".." in target.split("/"):
        return f"the check {written!r:.60} leads out of the workspace; allowed: a path below the working directory"
    return Check(kind="file", target=target, by_model=by_model)
