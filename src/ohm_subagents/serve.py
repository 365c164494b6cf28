"""The door to the server of `ohm serve`, which owns the tasks of programs that open an `Ohm` with `server`."""

from typing import TYPE_CHECKING

from ohm_subagents._lazy import lazy_names

if TYPE_CHECKING:
    from ohm_subagents._app.served.place import READY, socket_of
    from ohm_subagents._serve.server import ask_server, serve

__all__ = ["READY", "ask_server", "serve", "socket_of"]

__getattr__, __dir__ = lazy_names(
    __name__, {"_app.served.place": "READY socket_of", "_serve.server": "ask_server serve"}
)
