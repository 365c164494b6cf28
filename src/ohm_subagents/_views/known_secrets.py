"""The secrets of an environment, found by the names of their variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LEAST_SECRET: Final = 8
"""A shorter value would be found in words that have nothing to do with it."""

_SECRET: Final = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD|CREDENTIALS?)\Z|API_KEY|ACCESS_KEY|BEARER_TOKEN"
    r"|(?:DATABASE|DB|REDIS|MONGO(?:DB)?|POSTGRES(?:QL)?|MYSQL|AMQP)_(?:URL|URI|DSN)\Z|\ADATABASE_URL\Z",
    re.IGNORECASE,
)
_PASSWORD_IN_URL: Final = re.compile(r"://[^\s/?#@:]*+:([^\s/?#@]++)@")


def secrets_of(env: Mapping[str, str], literals: Iterable[str] = ()) -> tuple[str, ...]:
    """The values that must never be shown, longest first: those of `env`, passwords in addresses, and `literals`."""
    found = {*literals, *(value.strip() for name, value in env.items() if _SECRET.search(name))}
    for value in env.values():
        for password in _PASSWORD_IN_URL.findall(value) if "://" in value else ():
            found |= {password, unquote(password)}
    return tuple(sorted((value for value in found if len(value) >= LEAST_SECRET), key=len, reverse=True))
