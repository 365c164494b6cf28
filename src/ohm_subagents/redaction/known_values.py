"""Values that are known to be secret: those of an environment, by the names of variables, in any spelling."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from ohm_subagents.redaction.spellings import spellings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LEAST_SECRET: Final = 8
"""A shorter value would be found in words that have nothing to do with it."""
_LEAST_LINE: Final = 16

_SECRET: Final = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD|CREDENTIALS?)\Z|API_KEY|ACCESS_KEY|BEARER_TOKEN"
    r"|(?:DATABASE|DB|REDIS|MONGO(?:DB)?|POSTGRES(?:QL)?|MYSQL|AMQP)_(?:URL|URI|DSN)\Z|\ADATABASE_URL\Z",
    re.IGNORECASE,
)
_PASSWORD_IN_URL: Final = re.compile(r"://[^\s/?#@:]*+:([^\s/?#@]++)@")


def secrets_of(env: Mapping[str, str], literals: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the values that must never be shown, longest first: those of `env`, passwords in URLs, and `literals`."""
    found = {*literals, *(value.strip() for name, value in env.items() if _SECRET.search(name))}
    for value in env.values():
        for password in _PASSWORD_IN_URL.findall(value) if "://" in value else ():
            found |= {password, unquote(password)}
    return tuple(sorted((value for value in found if len(value) >= LEAST_SECRET), key=len, reverse=True))


def spelled(secrets: Iterable[str]) -> frozenset[str]:
    """Return each spelling of the values, and of the lines of those that have several; short values are left out."""
    whole = (secret for secret in secrets if len(secret) >= LEAST_SECRET)
    return frozenset(form for secret in whole for part in (secret, *_lines(secret)) for form in spellings(part))


def without_values(text: str, forms: Iterable[str], mark: str) -> str:
    """Return the text with `mark` in place of each of `forms`."""
    found = any_of(form for form in forms if form in text)
    return text if found is None else found.sub(mark, text)


def any_of(texts: Iterable[str], *, after: str = "") -> re.Pattern[str] | None:
    """Return a pattern for any of the texts, the longest first, then the pattern `after`; None for no text."""
    longest_first = sorted(filter(None, texts), key=lambda text: (-len(text), text))
    return re.compile(f"(?:{'|'.join(map(re.escape, longest_first))}){after}") if longest_first else None


def _lines(secret: str) -> Iterator[str]:
    """Yield the lines of a key that has several, which a search shows one by one; not those that every such key has."""
    lines = [line.strip() for line in secret.strip().splitlines()]
    return (line for line in lines if len(lines) > 1 and len(line) >= _LEAST_LINE and not line.startswith("-----"))
