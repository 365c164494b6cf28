"""The spellings of a value: plain, and encoded for JSON, addresses, HTML, shells, base64 and hexadecimal digits."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNESCAPED: Final = ("", "/", "!'()*", "!*'();/?:@&=+$,#")
"""The characters that URL encoders keep: none, a path's, and those of JavaScript for a component and an address."""
_HEXADECIMAL: Final = re.compile(r"%[0-9A-F]{2}")
_MARKUP: Final = tuple(map(re.compile, ("[&<>]", "[&<>']", "[&<>'+`]")))
_BITS: Final = 6


def spellings(value: str) -> Iterator[str]:
    """Yield each common way to write a value, the value itself first; some of them twice."""
    yield value
    yield from _in_json(value)
    yield from _in_an_address(value)
    yield from _in_html(value)
    yield value.replace("'", "'\\''")
    yield value.replace("'", "'\"'\"'")
    yield from _in_digits(value.encode("utf-8", "surrogatepass"))


def _in_json(value: str) -> Iterator[str]:
    """Escape once and twice, with and without what some writers escape besides."""
    for is_ascii in (True, False):
        once = json.dumps(value, ensure_ascii=is_ascii)[1:-1]
        yield once
        yield once.replace("/", "\\/")
        yield json.dumps(once, ensure_ascii=is_ascii)[1:-1]
        for markup, form in product(_MARKUP, ("\\u{:04x}", "\\u{:04X}")):
            escaped = markup.sub(partial(_written, form), once)
            yield escaped
            yield escaped.replace('\\"', form.format(ord('"')))


def _written(form: str, found: re.Match[str]) -> str:
    return form.format(ord(found[0]))


def _in_an_address(value: str) -> Iterator[str]:
    written = value.encode("utf-8", "replace")
    for one in (*(quote(written, safe=safe) for safe in _UNESCAPED), quote_plus(written)):
        yield one
        yield _HEXADECIMAL.sub(lambda found: found[0].lower(), one)
        yield quote(one, safe="")


def _in_html(value: str) -> Iterator[str]:
    import html  # noqa: PLC0415  its tables are loaded for a redaction only

    yield html.escape(value, quote=False)
    escaped = html.escape(value)
    for quote_mark in ('"', "&quot;", "&#34;", "&#x22;"):
        for apostrophe in ("'", "&#x27;", "&#39;", "&apos;"):
            yield escaped.replace("&quot;", quote_mark).replace("&#x27;", apostrophe)


def _in_digits(value: bytes) -> Iterator[str]:
    """Encode; in base64 also as a part of something longer: the digits that its surroundings do not change."""
    yield value.hex()
    yield value.hex().upper()
    for before in range(3):
        digits = b64encode(b"\0" * before + value).decode()
        whole = digits[-(-before * 8 // _BITS) : (before + len(value)) * 8 // _BITS]
        for one in (*(() if before else (digits, digits.rstrip("="))), whole):
            yield one
            yield one.replace("+", "-").replace("/", "_")
