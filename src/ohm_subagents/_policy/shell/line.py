"""Read a bash command line as the simple commands that it runs, without running anything."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from ohm_subagents._policy.shell.word import ESCAPE, Word, WrittenWord, source_of, word_of
from ohm_subagents._records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Parser

_LISTS: Final = frozenset({"program", "list", "pipeline", "redirected_statement", "comment"})
"""The nodes that only put commands one after another."""
_HEREDOC_PARTS: Final = frozenset(
    {"heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor", "file_redirect", "herestring_redirect"}
)
_SUBSTITUTIONS: Final = frozenset({"command_substitution", "process_substitution"})
_STRANGE: Final = re.compile(r"[^\S \t\n]|[\x00-\x08\x0e-\x1f\x7f]")
"""White space and control characters that bash reads differently than a parser may."""
_JOINED_LINES: Final = re.compile(r"[^ \t\n]\\\n")
_SUBSTITUTED: Final = re.compile(r"`|[$<>]\(")
_LONGEST: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleCommand:
    """One program, or builtin, with its arguments."""

    words: tuple[Word, ...]
    """The program and its arguments."""
    inputs: tuple[str, ...] = ()
    """The texts that stand in the command line for it to read, and the values that are assigned for it."""
    sources: tuple[str, ...] = ()
    """The words as they are written, with their quotes."""
    writes: tuple[WrittenWord, ...] = ()
    """The files that redirections write."""
    is_fed: bool = False
    """It reads what another command writes, or a file."""
    is_plain: bool = True
    """Nothing is assigned for it, and it reads and writes no file by a redirection but `/dev/null`."""

    @property
    def written(self) -> tuple[WrittenWord, ...]:
        """Return the words with their text."""
        sources = self.sources or tuple(word or "" for word in self.words)
        return tuple(map(WrittenWord, self.words, sources))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellLine:
    """The commands of one command line."""

    commands: tuple[SimpleCommand, ...]
    """Each command that it may run, also those in substitutions and in the bodies of functions."""
    doubt: str = ""
    """The reason why it may run others; empty if it runs no others."""
    is_list: bool = True
    """Its commands only follow one another: no substitution, condition, loop, function or assignment."""


def read_line(text: str) -> ShellLine:
    """Return the commands of a bash command line of at most 20,000 characters; others are doubtful."""
    if len(text) > _LONGEST:
        return _doubtful(f"it has {len(text)} characters, and only {_LONGEST} are read")
    if _STRANGE.search(text):
        return _doubtful("it has a control character or unusual white space")
    if _JOINED_LINES.search(text):
        return _doubtful("a backslash joins two lines in the middle of a word")
    source = text.encode()
    root = _parser().parse(source).root_node
    if root.has_error or not _covers(root, source):
        return _doubtful("it cannot be parsed as bash")
    if _has_unread_substitution(root):
        return _doubtful("it has a substitution where none can be read")
    reader = _Reader()
    reader.visit(root, is_fed=False)
    return ShellLine(commands=tuple(reader.commands), doubt=reader.doubt, is_list=reader.is_list)


def _doubtful(why: str) -> ShellLine:
    return ShellLine(commands=(), doubt=why, is_list=False)


@cache
def _parser() -> Parser:
    import tree_sitter_bash  # noqa: PLC0415  only rules for arguments need it
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_bash.language()))


def _covers(root: Node, source: bytes) -> bool:
    """Return True if the parser has dropped nothing of the source but white space between its tokens."""
    end = 0
    for leaf in _leaves(root):
        if source[end : leaf.start_byte].replace(b"\\\n", b"").strip(b" \t\n"):
            return False
        end = max(end, leaf.end_byte)
    return not source[end:].strip(b" \t\n")


def _leaves(node: Node) -> Iterator[Node]:
    if not node.children or node.type in {"heredoc_body", "string", "concatenation"}:
        yield node
    else:
        for child in node.children:
            yield from _leaves(child)


def _has_unread_substitution(node: Node) -> bool:
    """Return True if the parser took a substitution for text, as it does with back quotes in a here-document."""
    match node.type:
        case "raw_string" | "ansi_c_string" | "comment":
            return False
        case "heredoc_redirect":
            start = next((source_of(child) for child in node.children if child.type == "heredoc_start"), "")
            is_quoted = bool(set(start) & set("'\"\\"))
            body = [child for child in node.children if child.type != "heredoc_body" or not is_quoted]
            has_back_quote = any(child.type == "heredoc_body" and "`" in source_of(child) for child in body)
            return has_back_quote or any(map(_has_unread_substitution, body))
        case _ if node.named_children:
            return any(map(_has_unread_substitution, node.named_children))
        case _:
            return _SUBSTITUTED.search(ESCAPE.sub("", source_of(node))) is not None


class _Reader:
    """Collects the commands below a node, and what is doubtful."""

    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []
        self.doubt = ""
        self.is_list = True

    def visit(self, node: Node, *, is_fed: bool) -> None:
        """Collect the commands of a statement; `is_fed` if it reads what another command writes."""
        match node.type:
            case "command" | "declaration_command" | "unset_command":
                self._command(node, is_fed=is_fed)
            case "redirected_statement":
                self._redirected(node, is_fed=is_fed)
            case "pipeline":
                for position, child in enumerate(node.named_children):
                    self.visit(child, is_fed=is_fed or position > 0)
            case "comment":
                pass
            case kind:
                self.is_list &= kind in _LISTS
                self._inside(node, is_fed=is_fed)

    def _inside(self, node: Node, *, is_fed: bool) -> None:
        """Collect what is below a node that is no command itself."""
        if node.type == "variable_assignment":
            self._keep(SimpleCommand(words=("=",), inputs=_texts(node), is_plain=False))
        elif node.type == "test_command" or (node.type == "compound_statement" and node.children[0].type == "(("):
            self._keep(SimpleCommand(words=("test",), inputs=_texts(node), is_plain=False))
        for child in node.named_children:
            self.visit(child, is_fed=is_fed)

    def _command(self, node: Node, *, is_fed: bool, inputs: tuple[str, ...] = (), is_plain: bool = True) -> None:
        words: list[Word] = []
        sources: list[str] = []
        writes: list[WrittenWord] = []
        if node.type != "command":
            words.append(node.children[0].type)
            sources.append(node.children[0].type)
        for child in node.named_children:
            match child.type:
                case "variable_assignment" if node.type == "command":
                    is_plain, inputs = False, (*inputs, *_texts(child))
                case "file_redirect" | "herestring_redirect" | "heredoc_redirect":
                    fed, plain, more = _redirection(child)
                    is_fed, is_plain, inputs = is_fed or fed, is_plain and plain, (*inputs, *more)
                    writes += _targets(child)
                    self._after_heredoc(child)
                case "command_name":
                    words.append(word_of(child.named_children[0]) if child.named_children else word_of(child))
                    sources.append(source_of(child))
                case "comment":
                    continue
                case _:
                    words.append(word_of(child))
                    sources.append(source_of(child))
            self._substitutions(child)
        self._keep(
            SimpleCommand(
                words=tuple(words),
                inputs=inputs,
                sources=tuple(sources),
                writes=tuple(writes),
                is_fed=is_fed,
                is_plain=is_plain,
            )
        )

    def _redirected(self, node: Node, *, is_fed: bool) -> None:
        body = node.child_by_field_name("body")
        is_plain = True
        inputs: tuple[str, ...] = ()
        writes: tuple[WrittenWord, ...] = ()
        for child in node.named_children:
            if body is not None and child.id == body.id:
                continue
            fed, plain, more = _redirection(child)
            writes += _targets(child)
            self._after_heredoc(child)
            is_fed, is_plain, inputs = is_fed or fed, is_plain and plain, (*inputs, *more)
            self._substitutions(child)
        first = len(self.commands)
        if body is not None:
            self.visit(body, is_fed=is_fed)
        self.commands[first:] = [
            replace(
                one, inputs=(*one.inputs, *inputs), writes=(*one.writes, *writes), is_plain=one.is_plain and is_plain
            )
            for one in self.commands[first:]
        ]
        if body is None:
            self._keep(SimpleCommand(words=("exec",), inputs=inputs, writes=writes, is_plain=False))

    def _after_heredoc(self, node: Node) -> None:
        """Collect the commands that stand between the begin of a here-document and its text, as in `cat <<E | sh`."""
        if node.type == "heredoc_redirect":
            if node.children_by_field_name("argument"):
                self.doubt = self.doubt or "arguments follow the begin of a here-document"
            for child in node.named_children:
                if child.type not in _HEREDOC_PARTS:
                    self.is_list &= child.type in _LISTS
                    self.visit(child, is_fed=True)

    def _substitutions(self, node: Node) -> None:
        """Collect the commands that run to make a word, a redirection or a here-document."""
        if node.type in _SUBSTITUTIONS:
            self.visit(node, is_fed=False)
        else:
            for child in node.named_children:
                self._substitutions(child)

    def _keep(self, command: SimpleCommand) -> None:
        self.commands.append(command)


def _redirection(node: Node) -> tuple[bool, bool, tuple[str, ...]]:
    """Return whether a redirection feeds the command, whether it touches no file, and the text that it holds."""
    signs = {child.type for child in node.children if not child.is_named}
    match node.type:
        case "file_redirect":
            target = node.child_by_field_name("destination") or node.named_children[-1]
            word = word_of(target)
            is_duplicate = bool(signs & {">&", "<&"}) and word is not None and (word.isdecimal() or word == "-")
            return bool(signs & {"<", "<&"}) and not is_duplicate, is_duplicate or word == "/dev/null", _texts(node)
        case _:
            return True, False, _texts(node)


def _targets(node: Node) -> tuple[WrittenWord, ...]:
    """Return the files that a redirection writes."""
    if node.type == "heredoc_redirect":  # `cat <<E > out` has the other one inside
        return tuple(one for child in node.named_children for one in _targets(child))
    signs = {child.type for child in node.children if not child.is_named}
    if node.type != "file_redirect" or not any(">" in sign for sign in signs):
        return ()
    target = node.child_by_field_name("destination") or node.named_children[-1]
    word = word_of(target)
    is_duplicate = bool(signs & {">&", "<&"}) and word is not None and (word.isdecimal() or word == "-")
    return () if is_duplicate else (WrittenWord(word, source_of(target)),)


def _texts(node: Node) -> tuple[str, ...]:
    """Return the source of a node as text to search."""
    return (source_of(node),)
