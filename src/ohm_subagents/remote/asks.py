"""The asks of a hosted run to its submitter: model requests, calls of tools, and follow-ups that it is offered.

`_serve/program.py` is another protocol, for there nothing is asked again: a program that is gone is asked no more. A
run here waits, and its question reaches the submitter over the next connection too.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import anyio

from ohm_subagents.config import judge_call
from ohm_subagents.contract.wire import (
    AnswerMessage,
    AskLeft,
    CallAsked,
    CallJudged,
    CallWaits,
    Granted,
    Refused,
    RequestAsked,
    RetryJudged,
    SteerAnswered,
    SteeringClosed,
    SteeringOpened,
    ThrottleReported,
    ToolCalled,
    ToolProgressed,
    ToolReturned,
)
from ohm_subagents.plugin import Err, Grant, Inbox, Ok, ToolResult, result_of_data, tool_of_data

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents.config import CallRules
    from ohm_subagents.contract.wire import AskMessage, RunReport, SteerRun, WireTool
    from ohm_subagents.plugin import Decision, OhmError, RequestNeed, Result, Tool, ToolCall
    from ohm_subagents.remote.run_log import Entry

A = TypeVar("A", bound=AnswerMessage)
News: TypeAlias = ToolProgressed | CallWaits
"""The messages that come before the answer."""


@dataclass(slots=True)
class _Ask:
    """Something that was asked, and is not over."""

    message: AskMessage
    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: AnswerMessage | None = None
    on_news: Callable[[News], None] | None = None
    entry: Entry | None = None


class Asks:
    """The open asks of one run, and the way of their answers back to it."""

    def __init__(self, run_key: str, report: Callable[[RunReport], Entry | None], next_n: Callable[[], int]) -> None:
        """`report` adds a report to the log of the run, whose next number is `next_n`.

        `on_asked` is called when something was asked, and `on_leaving` before the submitter hears that it is over.
        """
        self.run_key = run_key
        self.report = report
        self.next_n = next_n
        self._open: dict[int, _Ask] = {}
        self._last = 0
        self.on_asked: Callable[[], None] = _nothing
        self.on_leaving: Callable[[int], None] = _nothing

    def next_ask(self) -> int:
        """Return the number of the next ask."""
        self._last += 1
        return self._last

    def unanswered(self) -> list[RequestAsked]:
        """Return the model requests that nobody has answered."""
        asks = (one.message for one in self._open.values() if one.answer is None)
        return [one for one in asks if isinstance(one, RequestAsked)]

    def answer(self, message: AnswerMessage) -> bool:
        """Take in an answer; one that comes twice, or too late, counts for nothing. Return True if it counts."""
        ask = self._open.get(message.ask)
        if ask is None or ask.answer is not None:
            return False
        if isinstance(message, News):
            if ask.on_news is not None:
                ask.on_news(message)
            return True
        ask.answer = message
        ask.answered.set()
        return True

    def ask_again(self, since: int) -> None:
        """Ask another submitter, who has heard the reports up to this one, what is not over.

        A model request that was granted is asked for once more: its budget is to be held until it is over.
        """
        for ask in self._open.values():
            if ask.answer is None or isinstance(ask.message, RequestAsked):
                was_sent = ask.message.n <= since or (ask.entry is not None and ask.entry.is_sent)
                ask.message = replace(ask.message, n=self.next_n(), is_again=ask.message.is_again or was_sent)
                ask.entry = self.report(ask.message)

    @asynccontextmanager
    async def asked(
        self, message: AskMessage, expected: type[A], *, on_news: Callable[[News], None] | None = None
    ) -> AsyncGenerator[A]:
        """Ask, and wait for the answer; the submitter hears when the context is left."""
        ask = self._open[message.ask] = _Ask(message, on_news=on_news)
        ask.entry = self.report(message)
        self.on_asked()
        try:
            await ask.answered.wait()
            if not isinstance(ask.answer, expected):
                raise TypeError(_strange(message, ask.answer))
            yield ask.answer
        finally:
            del self._open[message.ask]
            self.on_leaving(message.ask)
            self.report(AskLeft(run_key=self.run_key, n=self.next_n(), ask=message.ask))


def _nothing(*_ask: int) -> None:
    """Leave it at that."""


class RemoteGate:
    """The gate of a hosted run: its submitter answers (`Gate`)."""

    def __init__(
        self, asks: Asks, unpriced: OhmError | None, *, rules: tuple[CallRules, ...] = (), cwd: Path | None = None
    ) -> None:
        """`rules` are those for the calls of a run whose directory is `cwd`."""
        self._asks = asks
        self._unpriced = unpriced
        self._rules = rules
        self._cwd = cwd

    @asynccontextmanager
    async def request(self, need: RequestNeed) -> AsyncGenerator[Result[Grant, OhmError]]:
        """Wait until the submitter has reserved the budget and has a turn."""
        asks, price = self._asks, need.price
        input_price = None if price is None else price(need.input_tokens, 0)
        message = RequestAsked(
            run_key=asks.run_key,
            n=asks.next_n(),
            ask=asks.next_ask(),
            provider=need.provider,
            model=need.model,
            input_tokens=need.input_tokens,
            max_output_tokens=need.max_output_tokens,
            input_price=input_price,
            output_price=None if price is None or input_price is None else price(need.input_tokens, 1000) - input_price,
        )
        async with asks.asked(message, AnswerMessage) as answer:
            match answer:
                case Granted(max_output_tokens=most, is_last=is_last):
                    yield Ok(Grant(max_output_tokens=most, is_last=is_last))
                case Refused(error=error):
                    yield Err(error)
                case _:
                    raise TypeError(_strange(message, answer))

    def unpriced(self, need: RequestNeed) -> OhmError | None:
        """Return the error of a cost budget, as the submitter has sent it with the run."""
        if self._unpriced is None:
            return None
        return replace(self._unpriced, message=_named(self._unpriced.message, need))

    async def throttled(
        self, provider: str, *, attempt: int, retry_after_s: float | None, status: int | None = None
    ) -> bool:
        """Report a refusal of the provider, and ask if the request is sent again."""
        asks = self._asks
        message = ThrottleReported(
            run_key=asks.run_key,
            n=asks.next_n(),
            ask=asks.next_ask(),
            provider=provider,
            attempt=attempt,
            retry_after_s=retry_after_s,
            status=status,
        )
        async with asks.asked(message, RetryJudged) as answer:
            return answer.asks_again

    async def tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str = "",
        on_wait: Callable[[], None] | None = None,
        judged: Decision | None = None,
    ) -> str | None:
        """Ask if a call may be made; the submitter tells when it begins to wait."""
        asks = self._asks
        message = CallAsked(
            run_key=asks.run_key,
            n=asks.next_n(),
            ask=asks.next_ask(),
            tool=name,
            arguments={**arguments},
            call_id=call_id,
            judged=judged or self._judged(name, arguments),
        )

        def waits(_news: News) -> None:
            if on_wait is not None:
                on_wait()

        async with asks.asked(message, CallJudged, on_news=waits) as answer:
            return answer.refusal

    def _judged(self, name: str, arguments: Mapping[str, JsonValue]) -> Decision | None:
        """Return the verdict on a call in a clone, whose links the submitter cannot see; None if it can judge."""
        if self._cwd is None or not any(one.clones for one in self._rules):
            return None
        return judge_call(self._rules, name, arguments, cwd=self._cwd)


def _strange(asked: AskMessage, answer: AnswerMessage | None) -> str:
    return f"A submitter answered {type(asked).__name__} with {type(answer).__name__}."


def _named(message: str, need: RequestNeed) -> str:
    return message.replace("{provider}", need.provider).replace("{model}", need.model)


def remote_tool(tool: WireTool, asks: Asks) -> Tool:
    """Return a child tool whose calls the submitter carries out."""

    async def execute(call: ToolCall) -> ToolResult:
        def progressed(news: News) -> None:
            if call.on_update is not None and isinstance(news, ToolProgressed):
                call.on_update(ToolResult(text=news.text, details={}))

        message = ToolCalled(
            run_key=asks.run_key, n=asks.next_n(), ask=asks.next_ask(), tool=tool.name, arguments=call.arguments
        )
        async with asks.asked(message, ToolReturned, on_news=progressed) as returned:
            return result_of_data(returned)

    return tool_of_data(tool, execute)


class RemoteInbox(Inbox):
    """The inbox of a hosted run: its submitter offers follow-ups (`Inbox`)."""

    def __init__(self, asks: Asks) -> None:
        self._asks = asks
        self._offer: Callable[[str, Callable[[bool], None]], None] | None = None
        self._finish: Callable[[str], bool] | None = None

    def tell_open(self) -> None:
        """Tell a submitter that the run takes follow-ups, if it does."""
        if self._offer is not None:
            asks = self._asks
            asks.report(SteeringOpened(run_key=asks.run_key, n=asks.next_n(), can_finish=self._finish is not None))

    @contextmanager
    def offered_to(
        self, offer: Callable[[str, Callable[[bool], None]], None], finish: Callable[[str], bool] | None = None
    ) -> Generator[None]:
        """Let the run take what the submitter offers."""
        asks = self._asks
        self._offer, self._finish = offer, finish
        self.tell_open()
        try:
            yield
        finally:
            self._offer = self._finish = None
            asks.report(SteeringClosed(run_key=asks.run_key, n=asks.next_n()))

    def take(self, message: SteerRun) -> None:
        """Offer something to the run, and answer if it has taken it."""

        def answer(is_taken: bool) -> None:  # noqa: FBT001  an answer is yes or no
            asks = self._asks
            asks.report(SteerAnswered(run_key=asks.run_key, n=asks.next_n(), offer=message.offer, is_taken=is_taken))

        if message.is_last:
            answer(self._finish is not None and self._finish(message.text))
        elif self._offer is None:
            answer(False)  # noqa: FBT003  an answer is yes or no
        else:
            self._offer(message.text, answer)
