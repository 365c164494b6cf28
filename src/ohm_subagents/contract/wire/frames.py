"""The frames in which messages travel: a call of a `Transport`, and its answer."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, ClassVar, Literal

from pydantic import JsonValue, PlainValidator

from ohm_subagents._records import dataclass
from ohm_subagents.contract.wire.messages import WireMessage, WireObject

Carried = Annotated[tuple[WireObject, ...], PlainValidator(tuple)]
"""Messages that were dumped, and are loaded each by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello(WireMessage):
    """A runner's introduction."""

    incarnation: str
    """The id of this life of the runner: with another one, all runs of the one before are lost."""
    versions: tuple[int, ...]
    """The versions of messages that it reads and writes."""
    backend: str = ""
    """The id of the backend that it hosts."""
    running: tuple[str, ...] = ()
    """The keys of the runs that go on."""
    kept: int = 0
    """The number of runs that have ended, and are not acknowledged yet."""
    ended: tuple[str, ...] = ()
    """The keys of those."""
    kind: Literal["hello"] = "hello"


@dataclass(frozen=True, slots=True, kw_only=True)
class Post(WireMessage):
    """Messages of a submitter, in order."""

    CARRIES: ClassVar[str] = "messages"
    owner: str
    """The id of the submitter in this life of it."""
    incarnation: str
    """The life of the runner that the messages are for; another one takes none of them."""
    first: int
    """The number of the first message; the first of all is 1."""
    messages: Carried = field(default=(), hash=False)
    """The messages, as `dump` wrote them; from version 3 on, parts of a run may be those in `shared`."""
    shared: tuple[JsonValue, ...] = field(default=(), hash=False)
    """The parts that runs have in common, each once: `{"shared": n}` in a run is the one at place n, from 0 on."""
    kind: Literal["post"] = "post"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt(WireMessage):
    """The answer to a `Post`."""

    incarnation: str
    """The life of the runner."""
    taken: int
    """The number of the last message that it has taken of this submitter."""
    kind: Literal["receipt"] = "receipt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll(WireMessage):
    """Wait for reports."""

    owner: str
    """The id of the submitter in this life of it."""
    incarnation: str = ""
    """The life of the runner whose reports are waited for; another one answers at once. Empty for any."""
    since: int = 0
    """The place in the feed of the last report that it has."""
    acks: dict[str, int] = field(default_factory=dict[str, int], hash=False)
    """By the key of a run: the number of the last report that it will not need again."""
    wait_s: float = 20
    """The seconds to wait while there is no report."""
    kind: Literal["poll"] = "poll"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed(WireMessage):
    """The answer to a `Poll`."""

    CARRIES: ClassVar[str] = "reports"
    incarnation: str
    """The life of the runner."""
    first: int
    """The place in the feed of the first report."""
    reports: Carried = field(default=(), hash=False)
    """The reports, as `dump` wrote them."""
    kind: Literal["feed"] = "feed"
