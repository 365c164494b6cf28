"""The list of a parent agent, which follows the events of its host's session."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents.suite import UNMOUNTED
from ohm_subagents.suites.todos.continuation import LIMIT_REACHED, Next, after_turn, prompt, reminder
from ohm_subagents.suites.todos.countdown import Countdown
from ohm_subagents.suites.todos.screen import Screen
from ohm_subagents.suites.todos.snapshot import last_todos
from ohm_subagents.suites.todos.todo_list import TodoList
from ohm_subagents.suites.todos.views import COMPLETE, CONTEXT

if TYPE_CHECKING:
    from ohm_subagents.suite import Host, JsonObject, SessionId, SuiteContext

logger = logging.getLogger(__name__)


class ParentTodos:
    """One list, restored from the host's session; `follow` makes it follow that session."""

    def __init__(self, context: SuiteContext) -> None:
        self._mounted: SuiteContext | None = None
        self._screen = Screen(self._host)
        self._countdown = Countdown(self._screen, context.spawn)
        self._todos = TodoList()

    def follow(self, context: SuiteContext) -> None:
        """Follow the host's session by this context from now on; a countdown goes on."""
        is_back, self._mounted = self._mounted is None, context
        if is_back and self._todos.todos:
            self._screen.show(self._todos)
        context.host.on(UNMOUNTED, partial(self._leave, context))
        context.host.on("session_start", self._restore)
        context.host.on("session_tree", self._restore)
        context.host.on("session_shutdown", self._interrupt)
        context.host.on("input", self._interrupt)
        context.host.on("before_agent_start", self._remind)
        context.host.on("agent_end", self._go_on)

    def of(self, session_id: SessionId | None) -> TodoList:
        """Return the list."""
        del session_id
        return self._todos

    def replace(self, session_id: SessionId | None, todos: TodoList) -> None:
        """Replace the list and show it."""
        del session_id
        self._todos = todos
        if not todos.open_indices:
            self._countdown.stop()
        self._screen.show(todos)

    def _host(self) -> Host | None:
        """Return the host of the newest mounting."""
        return None if self._mounted is None else self._mounted.host.program

    async def _leave(self, context: SuiteContext, _event: JsonObject) -> None:
        """Clear the screen, unless the suite has been mounted again by now."""
        if self._mounted is context:
            self._countdown.stop()
            if self._todos.todos:
                self._screen.show(TodoList())
            self._mounted = None

    async def _interrupt(self, _event: JsonObject) -> None:
        """End the countdown: the session ends, or a person takes over."""
        self._countdown.stop()

    async def _restore(self, _event: JsonObject) -> None:
        """Read the list of the session's branch; a countdown belonged to another branch."""
        self._countdown.stop()
        host = self._host()
        try:
            found = () if host is None else last_todos(host.branch())
        except Exception:
            logger.exception("The session could not be read; its list of todos is empty.")
            found = ()
        self.replace(None, TodoList(todos=found))

    async def _remind(self, _event: JsonObject) -> JsonObject | None:
        """Answer with the list, for the model alone; a turn that begins ends the countdown."""
        self._countdown.stop()
        text = reminder(self._todos)
        return None if text is None else {"message": {"customType": CONTEXT, "content": text, "display": False}}

    async def _go_on(self, event: JsonObject) -> None:
        self._countdown.stop()
        host = self._host()
        if host is None:
            return
        self._todos, following = after_turn(self._todos, event)
        match following:
            case Next.REST:
                return
            case Next.GIVE_UP:
                host.send_message(COMPLETE, LIMIT_REACHED, display=True)
            case Next.GO_ON:
                self._countdown.start(self._ask_to_continue)

    def _ask_to_continue(self) -> None:
        """Send the prompt now, or after the current turn; if the host refuses both, a person has taken over."""
        host, text = self._host(), prompt(self._todos)
        if host is None or text is None:
            return
        try:
            host.send_user_message(text)
        except Exception:
            logger.debug("The agent could not be asked to continue; it is asked after its turn.", exc_info=True)
        else:
            return
        try:
            host.send_user_message(text, follow_up=True)
        except Exception:
            logger.debug("The agent could not be asked to continue.", exc_info=True)
