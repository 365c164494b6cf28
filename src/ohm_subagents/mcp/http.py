"""MCP over streamable HTTP, on one address, for clients that know the token."""

from __future__ import annotations

from functools import partial
from hmac import compare_digest
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Final, NamedTuple

from anyio.lowlevel import checkpoint
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from ohm_subagents import Ohm
from ohm_subagents.commands import (
    BAD_USAGE,
    MAX_MESSAGE_BYTES,
    SUCCESS,
    complain,
    listener_at,
    report,
    serve_app,
    until_signal,
)
from ohm_subagents.config import process_env
from ohm_subagents.contract import Err, Ok, Result
from ohm_subagents.contract.ids import secret_task_id
from ohm_subagents.mcp.guard import Guard
from ohm_subagents.mcp.options import PATH
from ohm_subagents.mcp.server import server_of

if TYPE_CHECKING:
    from ohm_subagents.mcp.options import ServerOptions

TOKEN: Final = "OHM_MCP_TOKEN"  # noqa: S105  the name of the variable
SHORTEST_TOKEN: Final = 16
_LOCAL: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class Address(NamedTuple):
    """The address that a server listens at."""

    host: str
    port: int
    """0 for any free one."""

    @property
    def is_local(self) -> bool:
        """True if only this machine can connect."""
        return self.host in _LOCAL

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{PATH}"


async def serve_http(options: ServerOptions, typed: str, *, origins: tuple[str, ...] = ()) -> int:
    """Serve any number of clients at an address, `[host:]port`, until a signal comes; return the exit code."""
    match address(typed):
        case Err(fault):
            complain(fault)
            return BAD_USAGE
        case Ok(at):
            given = process_env().get(TOKEN, "").strip()
    wrong = _token_fault(at, given)
    if wrong is not None:
        complain(wrong)
        return BAD_USAGE
    try:
        listener = listener_at(at.host, at.port)
    except OSError as error:
        complain(f"Cannot listen at {typed!r:.80}: {error.strerror or error}. Choose another address.")
        return BAD_USAGE
    with listener:
        at = at._replace(port=listener.getsockname()[1])
        token = given or token_urlsafe(24)
        if not given:
            complain(f"Token of this run: {token} (set {TOKEN} for one of your own).")
        secret = None if options.server else secret_task_id  # a server makes no other ids
        async with Ohm.open(cwd=options.cwd, config=options.config, server=options.server, new_task_id=secret) as ohm:
            report(ohm.diagnostics)
            server = server_of(ohm, {}, structured=options.structured)
            sessions = StreamableHTTPSessionManager(server, max_request_body_size=MAX_MESSAGE_BYTES)
            admits = partial(compare_digest, f"Bearer {token}".encode())
            guard = Guard(sessions.handle_request, admits=admits, origins=origins, is_local=at.is_local)
            complain(f"Serving MCP at {at}")

            async def served() -> None:
                async with sessions.run():
                    await serve_app(guard, listener)
                await checkpoint()  # tell the command that a signal has ended it

            ended = await until_signal(served)
    return SUCCESS if ended is None else 128 + ended


def address(typed: str) -> Result[Address, str]:
    """Read `[host:]port`; the host is 127.0.0.1 unless it is given."""
    host, _, port = typed.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if port.isascii() and port.isdigit() and int(port) <= 65_535:
        return Ok(Address(host, int(port)))
    return Err(f"--http is {typed!r:.80}; allowed: a port (0 for any free one), or host:port, say 127.0.0.1:8808.")


def _token_fault(at: Address, token: str) -> str | None:
    if not token and not at.is_local:
        return (
            f"{at.host} is open to other machines: set {TOKEN} to a secret of {SHORTEST_TOKEN} characters or more, "
            "or listen at 127.0.0.1."
        )
    if token and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
        return (
            f"{TOKEN} has {len(token)} characters; allowed: {SHORTEST_TOKEN} or more, printable ASCII without spaces."
        )
    return None
