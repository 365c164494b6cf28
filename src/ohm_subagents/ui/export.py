"""The page with a task in it, as one file that needs neither a server nor a network."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from pydantic_core import to_json

from ohm_subagents.ui.files import page_files, page_script

if TYPE_CHECKING:
    from ohm_subagents.ui.answers import ExportData

_HEAD: Final = "<head>"
_STYLE: Final = re.compile(r'<link rel="stylesheet" href="/page/([\w.-]+)">')
_SCRIPT: Final = '<script type="module" src="/page/main.js"></script>'


def exported_page(data: ExportData) -> str:
    """Return the page: its styles and its modules in it, and nothing else may be loaded or run."""
    sources = page_files()
    page, script = sources["index.html"], page_script()
    if "</script" in script or "<!--" in script:
        raise AssertionError("A script that is written into a page must not end it.")
    styles = [sources[name] for name in _STYLE.findall(page)]
    policy = (
        f"default-src 'none'; style-src {' '.join(map(_hash, styles))}; script-src {_hash(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = _STYLE.sub(lambda link: f"<style>{sources[link[1]]}</style>", page)
    page = _placed(page, _HEAD, f'{_HEAD}\n<meta http-equiv="Content-Security-Policy" content="{policy}">')
    return _placed(page, _SCRIPT, f'{_data(data)}\n<script type="module">{script}</script>')


def _placed(page: str, mark: str, text: str) -> str:
    if page.count(mark) != 1:
        message = f"The page has {mark!r} {page.count(mark)} times; it has to be there once."
        raise AssertionError(message)
    return page.replace(mark, text)


def _data(data: ExportData) -> str:
    """Return the data as an element; a browser takes nothing in it for markup."""
    text = to_json(data).decode().replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f'<script type="application/json" id="ohm-data">{text}</script>'


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
