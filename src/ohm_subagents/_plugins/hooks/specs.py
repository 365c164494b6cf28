"""The hooks: markers and specs, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ohm_subagents._plugins.hooks.offers import PROJECT, Offers, hookimpl, hookspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from ohm_subagents._plugins.backends.interface import ToolRowRequest
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.place import Place
    from ohm_subagents.contract.profile import Decision, PermissionRequest

__all__ = ["HOOKS_BY_NAME", "PROJECT", "Hooks", "hookimpl", "hookspec"]


class Hooks(Offers, Protocol):
    """Everything a plugin may implement.

    A plugin is a module or an object with some of these functions, each marked with `hookimpl`, and named by an entry
    point of the group `ohm_subagents`. Hooks are synchronous and only hand over objects; the objects own what is
    asynchronous. Plugins are asked one at a time, in order of registration, our own first; a hook may leave out
    arguments that it does not need. A hook that raises or returns the wrong type becomes one diagnostic with the
    plugin's name, and costs what that hook would have brought. To change a run, wrap a backend; to watch it, give an
    observer.
    """

    @hookspec
    def ohm_permission(self, request: PermissionRequest) -> Decision | None:
        """Say whether a profile may run. Every plugin is asked and a deny wins: a plugin can tighten, never loosen.

        **Called** once a task that ohm.json allows, before it is admitted. **Arguments**: `request` holds the profile,
        the prompt, the directory and the tools. **None** is no opinion; an allow weighs no more than that beside a
        deny. **Errors**: a plugin that raises, or answers with anything but a decision, counts as deny.

        ```python
        from ohm_subagents.plugin import Decision, PermissionRequest, hookimpl


        @hookimpl
        def ohm_permission(request: PermissionRequest) -> Decision | None:
            if "bash" in request.tools and request.cwd.name == "production":
                return Decision(verdict="deny", source="no-shell", reason="no shell in production")
            return None
        ```
        """
        ...

    @hookspec
    def ohm_observers(self) -> Iterable[Observer]:
        """Offer observers of every event of every task.

        **Called** once, before the first task; again if a plugin is registered later. **Arguments**: none. **None** is
        no observer. **Errors**: one diagnostic, and the plugin brings no observer. An observer that raises later is
        logged once and muted for that task.

        ```python
        from collections import Counter
        from collections.abc import Iterable

        from ohm_subagents.plugin import Event, Observer, Task, hookimpl

        seen: Counter[str] = Counter()


        class EventCounter:
            def notify(self, task: Task, event: Event) -> None:
                seen[event.kind] += 1


        @hookimpl
        def ohm_observers() -> Iterable[Observer]:
            yield EventCounter()
        ```
        """
        ...

    @hookspec(firstresult=True)
    def ohm_tool_row(self, call: ToolRowRequest) -> str | None:
        """Word the row of a tool call. Plugins are asked in order of registration until one answers.

        **Called** each time a tool event is shown, so it must be quick. **Arguments**: `call` holds the tool's name and
        its payload as text. **None** passes to the next plugin, and at last to our own wording.
        **Errors**: the plugin is passed over; one diagnostic however often it happens.

        ```python
        from ohm_subagents.plugin import ToolRowRequest, hookimpl


        @hookimpl
        def ohm_tool_row(call: ToolRowRequest) -> str | None:
            return f"Asked the web for {call.payload}" if call.tool == "web_search" else None
        ```
        """
        ...

    @hookspec
    def ohm_checks(self, place: Place, suites: Mapping[str, Mapping[str, JsonValue]]) -> Iterable[Diagnostic]:
        """Say what works at a place and what does not, for `ohm doctor` and `ohm trust`.

        **Called** by these commands, once for each report. Nothing is opened: look at files and the environment, ask no
        server. **Arguments**: `place` holds directories, environment and the user's trust in the project's files;
        `suites` the options of each mounted suite by its name. **None** is nothing to say. `ohm doctor` marks a line by
        its `severity`: `info` works, `warning` is missing, `error` is wrong and makes the exit code 1. **Errors**: one
        diagnostic, and the plugin says nothing.

        ```python
        from collections.abc import Iterable

        from ohm_subagents.plugin import Diagnostic, Place, hookimpl


        @hookimpl
        def ohm_checks(place: Place) -> Iterable[Diagnostic]:
            if "REVIEWER_KEY" not in place.env:
                yield Diagnostic(subject="reviewer", message="REVIEWER_KEY is not set; reviews are skipped.")
        ```
        """
        ...

    @hookspec
    def ohm_secrets(self, place: Place) -> Iterable[str]:
        """Name values that no text may show: keys that a plugin reads from files of its own.

        **Called** when texts are redacted, at most every five seconds. Variables of the environment that are named like
        keys, and those of model providers, are known already. **Arguments**: `place`, as for `ohm_checks`. **None** is
        no secret; a value of fewer than eight characters is not looked for. **Errors**: one diagnostic, and no value of
        the plugin is known.

        ```python
        from collections.abc import Iterable

        from ohm_subagents.plugin import Place, hookimpl


        @hookimpl
        def ohm_secrets(place: Place) -> Iterable[str]:
            yield (place.agent_dir / "reviewer.key").read_text().strip()
        ```
        """
        ...


HOOKS_BY_NAME: Final = {
    name: hook for kind in (Offers, Hooks) for name, hook in vars(kind).items() if name.startswith("ohm_")
}
"""The specs, those of `Offers` first."""
