"""A profile from Markdown with YAML front matter; the user's and the project's are read alike."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ohm_subagents._config.accept import known_keys, meant_key
from ohm_subagents._config.values import allowed, quoted_value
from ohm_subagents._profiles.documents import Document, read_document
from ohm_subagents._profiles.front_matter import FrontMatter
from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.restraints import is_restraint
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection

    from pydantic_core import ErrorDetails

    from ohm_subagents.contract.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedProfile:
    """A profile that was read."""

    profile: Profile
    """The profile."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """The keys of its file that were ignored."""


def parse_profile(text: str, *, source: str, stem: str, menu: Collection[str] = ()) -> Result[ParsedProfile, OhmError]:
    """Read one file. `source` is its name in messages, `stem` the id if it gives none, `menu` the names of models.

    Returns `profile_invalid` with file, line, key, value and what is allowed. Unknown keys are diagnostics.
    """
    read = read_document(text)
    if isinstance(read, Err):
        fault = read.err_value
        return _invalid(f"{source}:{fault.line}", fault.fact, fault.advice)
    fenced = read.ok_value
    if not fenced.body:
        return _invalid(source, "has no prompt", "Write the subagent's instructions below the front matter.")
    try:
        keys = {"id": stem, **fenced.values}
        matter = FrontMatter.model_validate(keys, by_alias=True, by_name=False, context={"menu": menu})
    except ValidationError as error:
        (place, *sentence), *others = _faults(error, fenced)
        also = [f"Line {number} {fact}. {advice}" for number, fact, advice in others]
        return _invalid(f"{source}:{place}", sentence[0], " ".join((sentence[1], *also)))
    restraint = next((key for key in matter.unknown if is_restraint(key, fenced.values.get(key))), None)
    if restraint is not None:
        advice = "It restrains a subagent and has no effect here: take it out. 'tools' has 'allow' and 'deny'."
        return _invalid(f"{source}:{fenced.line((restraint,))}", f"has the unknown key '{restraint}'", advice)
    unknown = tuple(_ignored(key, source=source, line=fenced.line((key,))) for key in matter.unknown)
    return Ok(ParsedProfile(profile=matter.profile(prompt=fenced.body, source=source), diagnostics=unknown))


def _faults(error: ValidationError, fenced: Document) -> list[tuple[int, str, str]]:
    """Return line, fact and advice of each fault, unknown keys included: one of them may be a missing key, misspelt."""
    found = [(fenced.line(one["loc"]), *_sentence(one)) for one in error.errors(include_url=False)]
    known = FrontMatter.keys()
    for key in fenced.values:
        if key not in known:
            advice = did_you_mean(key, known, likeness=0.6).rstrip() or f"Known: {', '.join(sorted(known))}."
            found.append((fenced.line((key,)), f"has the unknown key '{key}'", advice))
    return sorted(found, key=itemgetter(0))


def _sentence(error: ErrorDetails) -> tuple[str, str]:
    key = ".".join(str(part) for part in error["loc"])
    if error["type"] == "missing":
        return f"lacks '{key}'", "Add it to the front matter."
    if error["type"] == "extra_forbidden":
        return f"has the unknown key '{key}'", meant_key(str(error["loc"][-1]), known_keys(FrontMatter, error["loc"]))
    if error["type"] == "value_error":
        return f"has a wrong '{key}'", f"{error['msg'].removeprefix('Value error, ')}."
    return f"has {quoted_value(error['input'])} as '{key}'", f"It has to be {allowed(error)}."


def _ignored(key: str, *, source: str, line: int) -> Diagnostic:
    return Diagnostic(
        subject=key,
        message=f"'{key}' is not a key of a profile, and is ignored. Known: {', '.join(sorted(FrontMatter.keys()))}.",
        source=source,
        line=line,
    )


def _invalid(place: str, fact: str, advice: str) -> Err[OhmError]:
    return Err(OhmError(code=ErrorCode.PROFILE_INVALID, message=f"The profile {place} {fact}.", advice=advice))
