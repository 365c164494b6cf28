"""The recorded cases that hold for us, and the parts of one that a quirk tag takes out."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from golden_pi import KNOWN
from golden_recording import Json

QUIRKS_MD = Path(__file__).parent / "quirks.md"
BROAD = frozenset({"Q09", "Q41", "Q49", "Q50", "Q52", "Q54", "Q62"})
"""Tags that taint one field or text only; a case with any other tag is replaced whole."""


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """A row of quirks.md: what is replaced, why, and the test that shows ours."""

    what: str
    tags: str
    ours: str
    test: str


@cache
def replacements() -> dict[str, Replacement]:
    """The rows of the tables in quirks.md, by case or vector."""
    rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in QUIRKS_MD.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    )
    return {
        what.strip("`"): Replacement(what=what.strip("`"), tags=tags, ours=ours, test=test.strip("`"))
        for what, tags, ours, test in rows
    }


def skip_reason(case: Json) -> str | None:
    """Return why a case is not played, or None."""
    tags = replacing_tags(case)
    return replaced(case["id"], tags) if tags else None


def replaced(what: str, tags: list[str]) -> str:
    """The words for a skipped case or vector; the row in quirks.md names the test of the right behaviour."""
    row = replacements().get(what)
    return f"{', '.join(tags)}: {f'{row.ours} ({row.test})' if row else 'pins what ours replaces'}"


def replacing_tags(case: Json) -> list[str]:
    """The tags that replace a case whole: its own, and those that its content shows."""
    own = [tag for tag in case.get("quirks", []) if tag not in BROAD]
    tags = own + [tag for tag, shows in BY_CONTENT.items() if tag not in own and shows(case)]
    return [tag for tag in tags if tag not in OF_SENDS] if is_of_sends(case) else tags


OF_SENDS = frozenset({"Q12", "Q15", "Q16", "Q45", "Q64"})
"""Tags of follow-ups; a case of them is played with what follows from the tag put right (`golden_sends.py`)."""
TOO_LATE = {"task_not_running", "illegal_task_state_transition"}
"""The answer of the reference to a follow-up whose task has ended meanwhile (Q45)."""


def is_of_sends(case: Json) -> bool:
    """Return True if a run answers a follow-up in it, or would have."""
    told = [_details(step) for step in case["steps"]]
    return any(one.get("op") == "send" and ("tool_rows" in one or one.get("error_code") in TOO_LATE) for one in told)


def _aborts_a_wait_between_two_polls(case: Json) -> bool:
    """A wait that was aborted and still says `timeout`: only a poll can see both at once."""
    aborted = {step["signal"] for step in case["steps"] if step["do"] == "abort"}
    signals = {step.get("as"): step.get("signal") for step in case["steps"] if step["do"] in {"call", "spawn"}}
    return any(
        _details(step).get("wait_status") == "timeout" and signals.get(step.get("as")) in aborted
        for step in case["steps"]
    )


def _skips_the_loader(case: Json) -> bool:
    """Permission values that no loader lets through: the reference's policy layer was called with them directly."""
    rules = ((case.get("config") or {}).get("subagents") or {}).get("permissions") or {}
    decisions = [rules.get("default", "allow"), *(rules.get("subagents") or {}).values()]
    return not isinstance(rules.get("allowInternalRouting", False), bool) or any(
        decision not in {"allow", "deny", "ask"} for decision in decisions
    )


def _cuts_a_grapheme(case: Json) -> bool:
    """An output cut before a mark that belongs to the character kept: ours keeps graphemes whole."""
    whole = [entry["ok"].get("output", "") for entry in case["backend"].get("start", []) if "ok" in entry]
    shown = [part for step in case["steps"] for part in (_details(step), *_details(step).get("items", []))]
    return any(
        text.startswith(part["output"]) and unicodedata.combining(text[len(part["output"])])
        for part in shown
        if part.get("output_truncated")
        for text in whole
        if len(text) > len(part["output"])
    )


def _names_no_backend(case: Json) -> bool:
    """A backend that nobody offers, which the reference takes for the in-process one."""
    patches = [case.get("config") or {}, *(step["patch"] for step in case["steps"] if step["do"] == "set_config")]
    return case["backend"].get("type") == "pi" and any(
        patch.get("subagentBackend", "none") not in KNOWN for patch in patches
    )


def _strips_below_the_header(case: Json) -> bool:
    """A line like `model: x` below the first line of the answer, which ours keeps."""
    answers = [entry.get("stdout") or "" for entry in case["backend"].get("cli", []) if not entry.get("exitCode")]
    return any(_METADATA.match(line) for text in answers for line in _below_the_header(text))


_METADATA = re.compile(r"\s*(?:backend|provider|model|runtime|route)\s*:", re.IGNORECASE)


def _below_the_header(text: str) -> list[str]:
    lines = text.strip().splitlines()
    begun = next((n for n, line in enumerate(lines) if line.strip() and not _METADATA.match(line)), len(lines))
    return lines[begun:]


def _is_late_by_the_runner(case: Json) -> bool:
    """A process that says itself that its time is over: here the engine's clocks stop a run."""
    return any(entry.get("timedOut") for entry in case["backend"].get("cli", []))


def _reads_leading_digits(case: Json) -> bool:
    """A number in a variable that is no integer, of which the reference takes the digits in front."""
    values = (str(value).strip() for value in (case.get("env") or {}).values() if value is not None)
    return any(re.fullmatch(r"\+?[0-9]+[^0-9].*", value) for value in values)


BY_CONTENT: dict[str, Callable[[Json], bool]] = {
    "Q19": _cuts_a_grapheme,
    "Q53": _aborts_a_wait_between_two_polls,
    "Q60": _skips_the_loader,
    "Q36": _strips_below_the_header,
    "no such backend": _names_no_backend,
    "clocks": _is_late_by_the_runner,
    "leading digits": _reads_leading_digits,
}
"""Quirks that some cases show without the tag."""


def tags_of(case: Json) -> set[str]:
    """The broad tags of a case: its own, and Q63 where two turns of the assistant stream around tool calls."""
    return set(case.get("quirks", [])) | ({"Q63"} if _streams_two_turns(case) else set())


UNSUPPORTED = "custom-plugin"


def tags_of_result(details: Json) -> set[str]:
    """The tag of a result whose message names a package of the reference; ours lists the backends that there are."""
    return {UNSUPPORTED} if details.get("error_code") == "unsupported_subagent_backend" else set()


def _streams_two_turns(case: Json) -> bool:
    streams = [entry.get("stream", []) for kind in ("start", "send") for entry in case["backend"].get(kind, [])]
    streams += [step["events"] for step in case["steps"] if step["do"] == "emit"]
    kinds = "".join("text " if event["type"] == "assistant_text_delta" else "tool " for one in streams for event in one)
    return "text tool" in kinds and "tool text" in kinds[kinds.index("text tool") :]


def _details(step: Json) -> Json:
    return step.get("expect", {}).get("details", {})


POLL_MS = 25
"""The reference polls while it waits (Q53): it may notice up to one poll later than we do."""

MASK = "(not compared)"


def mended(details: Json, tags: set[str], *, primary_ids: set[str | None], names: dict[str, str]) -> Json:
    """Recorded details as ours have to be: what a broad quirk spoilt is put right, or masked.

    `primary_ids` are the tasks that a direct tool started; its refusals have no id.
    """
    fixed = {key: _mended_value(key, value, details, tags) for key, value in details.items()}
    if "Q50" in tags and "invocation" in fixed:
        task_id = details.get("task_id", details.get("id"))
        fixed["invocation"] = "primary-tool" if task_id in primary_ids else "task-routed"
    if "Q52" in tags and details.get("status") == "cancelled":
        fixed["summary"] = named(details["summary"], names)
    if details.get("output_truncated") is False:  # recorded in UTF-16 units, see `text_units`
        fixed |= dict.fromkeys(("output_total_chars", "output_returned_chars"), len(details["output"]))
    if "items" in details:
        fixed["items"] = [mended(item, tags, primary_ids=primary_ids, names=names) for item in details["items"]]
    return fixed


def _mended_value(key: str, value: Any, details: Json, tags: set[str]) -> Any:
    if key == "error_category" and "Q62" in tags:
        return MASK
    if key in {"summary", "error_message"} and "Q49" in tags and _is_payload_error(details):
        return MASK
    if key in {"summary", "error_message"} and UNSUPPORTED in tags_of_result(details):
        return MASK
    if key == "assistant_text" and "Q63" in tags:
        return MASK
    return value


def masked(details: Json, pattern: Json) -> Json:
    """Our details with a mask wherever the recorded ones have one."""
    shown = {key: MASK if pattern.get(key) == MASK else value for key, value in details.items()}
    if isinstance(details.get("items"), list) and len(details["items"]) == len(pattern.get("items", [])):
        shown["items"] = [masked(*pair) for pair in zip(details["items"], pattern["items"], strict=True)]
    return shown


def _is_payload_error(details: Json) -> bool:
    return details.get("error_code") == "invalid_task_tool_payload"


def named(summary: str, names: dict[str, str]) -> str:
    """`Cancelled <id>: ...` with the profile's name (Q52)."""
    found = re.match(r"Cancelled (\S+): ", summary)
    return summary if found is None else summary.replace(found[1], names.get(found[1], found[1]), 1)


_CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1a\\x1c-\\x1f\\x7f-\\x9f]")
"""Characters that ours shows on no terminal; escape sequences are told by Q41."""
_ROW = re.compile(r"    ├── [○…✓✕] ")


def comparable_lines(recorded: str, ours: str, tags: set[str]) -> tuple[list[str], list[str]]:
    """The lines of two views without those that a quirk spoilt."""
    if UNSUPPORTED in tags:
        recorded, ours = (text.partition("╰──")[0] for text in (recorded, ours))
    theirs, mine = _CONTROLS.sub("", recorded).split("\n"), ours.split("\n")
    if (
        "more tool call(s)" in recorded
    ):  # Q40, which not every such case is tagged with: the first rows, ours the newest
        theirs, mine = ([line for line in lines if not _ROW.match(line)] for lines in (theirs, mine))
    if "Q41" in tags and len(theirs) == len(mine):
        spoilt = {index for index, line in enumerate(theirs) if "\x1b[0m..." in line}
        theirs, mine = ([one for n, one in enumerate(lines) if n not in spoilt] for lines in (theirs, mine))
    return theirs, mine


def comparable_debug(text: str, tags: set[str]) -> list[str]:
    """A debug text without the lines of spoilt fields."""
    keys = {
        "Q50": ["invocation: "],
        "Q62": ["error_category: "],
        "Q52": ["summary: Cancelled "],
        UNSUPPORTED: ["summary: ", "error_message: "],
    }
    spoilt = tuple(key for tag in keys.keys() & tags for key in keys[tag])
    if "Q63" in tags:
        text = "".join(text.split())
    return [line for line in text.split("\n") if not (spoilt and line.strip().startswith(spoilt))]
