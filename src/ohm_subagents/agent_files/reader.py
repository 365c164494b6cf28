"""Read the file of an agent of another program as a profile, and name all that does not hold here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, cast

from ohm_subagents.agent_files import SUITE
from ohm_subagents.agent_files.dialects import RESTRAINTS
from ohm_subagents.agent_files.models import EFFORTS, model_of
from ohm_subagents.agent_files.texts import AgentText, read_markdown, read_toml
from ohm_subagents.agent_files.tools import Tools, is_on, shown
from ohm_subagents.contract.model_route import INHERIT
from ohm_subagents.contract.restraints import is_restraint
from ohm_subagents.contract.spelling import nearest_name
from ohm_subagents.files import Fault
from ohm_subagents.suite import (
    Budget,
    Diagnostic,
    Err,
    Limits,
    ModelPattern,
    Profile,
)
from ohm_subagents.views import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ohm_subagents.agent_files.dialects import Dialect, Role
    from ohm_subagents.contract.diagnostics import Severity
    from ohm_subagents.contract.model_pattern import Thinking

_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ID_RULE: Final = "letters, digits, '-' and '_', at most 64, beginning with a letter or digit"
_EXAMPLES: Final = re.compile(r"<example>|\\n|\n\s*\n|\bExamples?:", re.IGNORECASE)
_SUMMARY: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFile:
    """The profile of a file, if it is one, and all that does not hold of what it says."""

    profile: Profile | None
    diagnostics: tuple[Diagnostic, ...] = ()
    skills: tuple[str, ...] = ()
    """The names of the skills whose text is to be in its prompt."""


class _RefusedError(Exception):
    """A file that is no profile."""

    def __init__(self, fault: Fault | None) -> None:
        super().__init__(fault)
        self.fault = fault


def parse_agent_file(
    text: str, dialect: Dialect, *, source: str, stem: str, aliases: Mapping[str, ModelPattern]
) -> AgentFile:
    """Read one file. `source` is its name in diagnostics, `stem` the id if it gives none; `aliases` are folded."""
    read = read_toml(text) if dialect.suffix == ".toml" else read_markdown(text)
    if isinstance(read, Err):
        return left_out(source, stem, read.err_value)
    return read_agent(read.ok_value, dialect, source=source, stem=stem, aliases=aliases)


def read_agent(
    text: AgentText, dialect: Dialect, *, source: str, stem: str, aliases: Mapping[str, ModelPattern]
) -> AgentFile:
    """Read the keys and the prompt of one agent, as `parse_agent_file` does."""
    reading = _Reading(dialect=dialect, text=text, source=source, aliases=aliases)
    try:
        return reading.file(stem)
    except _RefusedError as refused:
        return AgentFile(profile=None) if refused.fault is None else left_out(source, stem, refused.fault)


def left_out(source: str, subject: str, fault: Fault) -> AgentFile:
    """Return the answer of a file that is no profile."""
    message = f"The agent file is left out: it {fault.fact}. {fault.advice}".rstrip()
    found = Diagnostic(subject=subject, message=message, severity="error", source=source, line=fault.line or None)
    return AgentFile(profile=None, diagnostics=(found,))


@dataclass(slots=True, kw_only=True)
class _Reading:
    """One file while its keys are read."""

    dialect: Dialect
    text: AgentText
    source: str
    aliases: Mapping[str, ModelPattern]
    found: list[Diagnostic] = field(default_factory=list[Diagnostic])
    tools: Tools = field(init=False)
    name: str = ""
    summary: str = ""
    prompt: str = ""
    model: ModelPattern | Literal["inherit"] | None = None
    thinking: Thinking | None = None
    requests: int | None = None
    minutes: int | None = None
    is_manual: bool = False
    skills: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.tools = Tools(names=self.dialect.tools, tell=self._tell, note=self._note, source=self.source)

    def file(self, stem: str) -> AgentFile:
        """Return the file's profile. Raises `_RefusedError` for one that is none."""
        if self.text.fault is not None:
            fault = self.text.fault
            self._add("front matter", f"It {fault.fact}, and is read line by line. {fault.advice}", "info", fault.line)
        for key, value in self.text.values.items():
            role = self.dialect.keys.get(key)
            if role is None and not self.dialect.is_strict and key in RESTRAINTS:
                self._note(key, "is a key of another format, and is kept to")
                role = RESTRAINTS[key]
            if role is None:
                self._unknown(key, value)
            else:
                self._reads[role](key, value)
        profile = self._profile(stem)
        return AgentFile(profile=profile, diagnostics=tuple(self.found), skills=self.skills)

    def _profile(self, stem: str) -> Profile:
        name = (self.name or stem).strip()
        profile_id = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")
        if not _ID.fullmatch(profile_id):
            raise self._refused("name", f"has {shown(name)} as its name", f"Allowed: {_ID_RULE}.")
        if not self.summary:
            raise self._refused("description", "has no description", "A caller chooses by it: add 'description'.")
        prompt = self.prompt or self.text.body
        if not prompt.strip():
            raise self._refused("", "has no prompt", "Write the agent's instructions below the front matter.")
        notes = tuple(one.message for one in self.found if one.severity == "warning")
        return Profile(
            id=profile_id,
            name=name,
            summary=self.summary,
            prompt=prompt,
            model=self._model_and_thinking(),
            model_name=INHERIT if self.model == INHERIT else "",
            tools=self.tools.policy,
            internal=self.is_manual,
            limits=None if self.minutes is None else Limits(cap_ms=self.minutes * 60_000),
            budget=None if self.requests is None else Budget(requests=self.requests),
            notes=notes,
            source=self.source,
            suite=SUITE,
        )

    def _model_and_thinking(self) -> ModelPattern | None:
        model = None if self.model == INHERIT else self.model
        if self.thinking is None or model is not None:
            return model and replace(model, thinking=self.thinking or model.thinking)
        key = next(key for key, role in self.dialect.keys.items() if role == "thinking")
        self._note(key, "has no effect without a model of the agent's own")
        return None

    @property
    def _reads(self) -> Mapping[Role, Callable[[str, object], None]]:
        """The reader of each key."""
        return {
            "name": partial(self._set_text, "name"),
            "description": self._set_summary,
            "prompt": partial(self._set_text, "prompt"),
            "model": self._set_model,
            "thinking": self._set_thinking,
            "tools": self.tools.allow,
            "denied": self.tools.deny,
            "verdicts": self.tools.judge,
            "mode": self.tools.keep_mode,
            "read_only": self.tools.keep_read_only,
            "sandbox": self.tools.keep_sandbox,
            "approval": self.tools.keep_approval,
            "requests": partial(self._set_count, "requests"),
            "minutes": partial(self._set_count, "minutes"),
            "skills": self._set_skills,
            "manual": self._set_manual,
            "disabled": self._check_disabled,
            "audience": self._check_audience,
            "place": self._check_place,
            "lost": self._lose,
            "cosmetic": lambda key, _: self._note(key, "has no effect here"),
        }

    def _set_text(self, name: str, key: str, value: object) -> None:
        if not isinstance(value, str):
            raise self._refused(key, f"has {shown(value)} as '{key}'", "It has to be a text.")
        setattr(self, name, value.strip())

    def _set_summary(self, key: str, value: object) -> None:
        self._set_text("summary", key, value)
        first = one_line(_EXAMPLES.split(self.summary, maxsplit=1)[0]) or one_line(self.summary)
        short = first if len(first) <= _SUMMARY else f"{first[: _SUMMARY - 1].rstrip()}…"
        if short != one_line(self.summary):
            self._note(key, f"is cut to its beginning of {len(short)} characters")
        self.summary = short

    def _set_model(self, key: str, value: object) -> None:
        self.model, unknown = model_of(value, self.dialect, self.aliases)
        if isinstance(value, str) and value.strip().lower() == INHERIT:
            self.model = INHERIT
        if unknown is not None:
            advice = "the model of ohm.json runs it; name one for it there, in 'subagents.modelAliases'"
            self._tell(key, f"is {shown(unknown)}, which names no provider: {advice}")

    def _set_thinking(self, key: str, value: object) -> None:
        self.thinking = EFFORTS.get(value.strip().lower()) if isinstance(value, str) else None
        if self.thinking is None:
            self._tell(key, f"is {shown(value)}, which has no effect; known here: {', '.join(EFFORTS)}")

    def _set_count(self, name: str, key: str, value: object) -> None:
        number = int(value) if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10 else value
        if isinstance(number, bool) or not isinstance(number, int) or not 0 < number < 10**9:
            raise self._refused(key, f"has {shown(value)} as '{key}'", "It has to be a whole number, 1 or more.")
        said = getattr(self, name)
        setattr(self, name, number if said is None else min(number, said))

    def _set_skills(self, key: str, value: object) -> None:
        parts = value.split(",") if isinstance(value, str) else value
        if isinstance(parts, list) and all(isinstance(one, str) for one in cast("list[object]", parts)):
            self.skills = tuple(filter(None, (one.strip() for one in cast("list[str]", parts))))
        else:
            self._tell(key, f"is {shown(value)}, but has to be a list of names: the agent gets no skill")

    def _set_manual(self, key: str, value: object) -> None:
        if is_on(value) is not (key == "infer"):
            self.is_manual = True
            self._tell(key, "keeps models from choosing it: it is internal, and runs with 'allowInternalRouting'")

    def _check_disabled(self, key: str, value: object) -> None:
        if is_on(value) is not False:
            raise _RefusedError(None)

    def _check_audience(self, key: str, value: object) -> None:
        if value == "primary":
            raise _RefusedError(None)

    def _check_place(self, key: str, value: object) -> None:
        if value != "local":
            raise self._refused(key, f"has {shown(value)} as '{key}'", "Only local agents run here.")

    def _lose(self, key: str, value: object) -> None:
        """Tell of a key that has no effect; one that restrains the agent is refused with its file."""
        if is_restraint(key, value):
            raise self._refused(
                key, f"has {shown(value)} as '{key}'", "It restrains the agent, and has no effect here."
            )
        self._tell(key, "has no effect here")

    def _unknown(self, key: str, value: object) -> None:
        if is_restraint(key, value):
            self._lose(key, value)
        known = self.dialect.keys
        near = nearest_name(key, known, likeness=0.6)
        hint = f"Known: {', '.join(known)}" if near is None else f"Did you mean '{near}'"
        if self.dialect.is_strict:
            raise self._refused(key, f"has the unknown key {shown(key)}", f"{hint}.")
        self._tell(key, f"is no known key of this format, and is ignored. {hint}")

    def _tell(self, key: str, fact: str) -> None:
        self._add(key, f"'{key}' {fact}.", "warning", self._line(key))

    def _note(self, key: str, fact: str) -> None:
        self._add(key, f"'{key}' {fact}.", "info", self._line(key))

    def _line(self, key: str) -> int | None:
        return self.text.lines.get(key.partition(".")[0])

    def _add(self, key: str, message: str, severity: Severity, line: int | None) -> None:
        found = Diagnostic(subject=key, message=message.rstrip(), severity=severity, source=self.source, line=line)
        self.found.append(found)

    def _refused(self, key: str, fact: str, advice: str) -> _RefusedError:
        return _RefusedError(Fault(line=self.text.lines.get(key, 1), fact=fact, advice=advice))
