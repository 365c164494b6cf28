"""`.mcp.json` of a project: servers that count once the user trusts the file as it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents.suite import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ohm_subagents.config import McpServer
    from ohm_subagents.suite import Place

FILE_NAME: Final = ".mcp.json"
_KEY: Final = "mcpServers"
_MOST: Final = 20


def read_project_file(place: Place) -> tuple[Mapping[str, McpServer], tuple[Diagnostic, ...]]:
    """Return the servers of a trusted file, and what is wrong with the file; an untrusted one has no servers."""
    from ohm_subagents.files import os_problem, read_regular  # noqa: PLC0415  most projects have no such file

    path = place.cwd / FILE_NAME
    try:
        text = read_regular(path).decode("utf-8-sig")
        written: object = json.loads(text)
    except FileNotFoundError:
        return {}, ()
    except (OSError, ValueError, RecursionError) as error:
        why = os_problem(error) if isinstance(error, OSError) else "it is not JSON"
        return {}, (Diagnostic(subject=FILE_NAME, message=f"'{FILE_NAME}' cannot be read: {why}."),)
    entries = cast("dict[str, object]", written).get(_KEY) if isinstance(written, dict) else None
    if not isinstance(entries, dict):
        return {}, (Diagnostic(subject=FILE_NAME, message=f"'{FILE_NAME}' has no object '{_KEY}', and is ignored."),)
    servers, wrong = _servers(cast("dict[str, object]", entries))
    if servers and not place.trusts(path, text):
        return {}, (*wrong, *_untrusted(servers))
    return servers, wrong


def _servers(entries: Mapping[str, object]) -> tuple[dict[str, McpServer], tuple[Diagnostic, ...]]:
    """Read the servers as those of ohm.json, but for keys of other programs, which are passed over."""
    from pydantic import ValidationError  # noqa: PLC0415  as above

    from ohm_subagents.config import McpServer  # noqa: PLC0415  as above

    known = {one.alias or name for name, one in McpServer.model_fields.items()}
    servers: dict[str, McpServer] = {}
    wrong: list[Diagnostic] = []
    for name, entry in entries.items():
        given = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
        try:
            servers[name] = McpServer.model_validate({key: one for key, one in given.items() if key in known})
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            at = ".".join(map(str, (name, *first["loc"])))
            wrong.append(
                Diagnostic(
                    subject=FILE_NAME, message=f"'{at}' of '{FILE_NAME}' has to be {first['msg']}; it is ignored."
                )
            )
    return servers, tuple(wrong[:_MOST])


def _untrusted(servers: Mapping[str, McpServer]) -> Iterator[Diagnostic]:
    from ohm_subagents.files import TRUST_COMMAND  # noqa: PLC0415  as above

    for name, server in list(servers.items())[:_MOST]:
        reached = f"starts '{' '.join((server.command, *server.args))}'" if server.command else f"asks '{server.url}'"
        message = f"The MCP server '{name}' of '{FILE_NAME}' {reached:.300}; it is off."
        advice = f"To allow it, trust the project ('{TRUST_COMMAND}')."
        yield Diagnostic(subject=FILE_NAME, message=message, advice=advice)
    if len(servers) > _MOST:
        message = f"{len(servers) - _MOST} more MCP servers of '{FILE_NAME}' are off, too."
        yield Diagnostic(subject=FILE_NAME, message=message)
