"""Markdown of models and people as HTML that is safe anywhere: no markup of theirs, no script, no style, no image."""

from __future__ import annotations

from functools import cache, lru_cache
from html import escape
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]  its stubs leave out what it passes on
from pygments.util import ClassNotFound

from ohm_subagents.views import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

_SCHEMES: Final = frozenset({"http", "https", "mailto"})
_MOST_CODE: Final = 20_000
"""Code that is longer has no colours."""
_MOST_KEPT: Final = 256
"""Texts, of which none is longer than what a page shows of one."""
_MOST_LINES: Final = 10_000


@lru_cache(maxsize=_MOST_KEPT)
def markup(text: str) -> str:
    """Return Markdown as HTML. Markup in it is shown as text, and an image as a link.

    It is drawn once: a page asks for the prompt and the answer of a task each time that something happens in its tree.
    """
    drawn: str = _parser().render(printable(text))
    return printable(drawn)  # the name of a character becomes one


@lru_cache(maxsize=_MOST_LINES)
def plain(line: str) -> str:
    """Return a line of Markdown as one line of text, without its marks; it is drawn once, as the rest is."""
    drawn = _parser().parseInline(printable(line))
    return one_line("".join(token.content for one in drawn for token in one.children or ()))


class _Parser(MarkdownIt):
    """Takes links of a few schemes, and no others."""

    def validateLink(self, url: str) -> bool:  # noqa: N802  its name
        try:
            return urlsplit(url.strip()).scheme.casefold() in _SCHEMES
        except ValueError:
            return False


class _Renderer(RendererHTML):
    """A method for a kind of token."""

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Draw the beginning of a link, which is told nothing of the page."""
        tokens[idx].attrSet("rel", "noopener noreferrer")
        tokens[idx].attrSet("target", "_blank")
        return self.renderToken(tokens, idx, options, env)

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Draw the beginning of a cell without the style of its column, which no page of ours allows."""
        tokens[idx].attrs.pop("style", None)
        return self.renderToken(tokens, idx, options, env)

    th_open = td_open


@cache
def _parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False, "highlight": _coloured}, renderer_cls=_Renderer)
    return parser.enable(["table", "strikethrough"]).disable("image")


def _coloured(code: str, language: str, _attributes: str) -> str:
    """Return code with a class for each kind of word; without any where it is long, or its language is not known."""
    if len(code) > _MOST_CODE or not language:
        return escape(code)
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return escape(code)
    coloured: str = highlight(code, lexer, HtmlFormatter(nowrap=True))
    return coloured
