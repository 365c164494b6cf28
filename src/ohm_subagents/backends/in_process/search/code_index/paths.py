"""Weigh a file by its path alone: code counts more than tests, documentation and changelogs."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

_TEST: Final = 0.5  # a test restates in its name what the source does; it is not where it is done
_EXAMPLE: Final = 0.5
_DOCUMENT: Final = 0.25  # prose says in the words of the question what code does in its own
_HISTORY: Final = 0.1

_TEST_DIRECTORIES: Final = frozenset({"test", "tests", "__tests__", "testdata", "fixtures"})
_EXAMPLE_DIRECTORIES: Final = frozenset({"benchmark", "benchmarks", "demo", "demos", "example", "examples", "samples"})
_DOCUMENT_DIRECTORIES: Final = frozenset({"doc", "docs", "documentation"})
_DOCUMENT_SUFFIXES: Final = frozenset({"adoc", "htm", "html", "md", "mdx", "org", "rst", "txt"})
_HISTORY_NAME: Final = re.compile(r"(change|release|news|history|whatsnew|whats_new|migration)")
_HISTORY_DIRECTORY: Final = re.compile(r"(change|release|news$|history$|whatsnew)")
_PROSE: Final = _DOCUMENT_SUFFIXES | {""}

_TESTS_ASKED: Final = frozenset({"test", "tests", "tested", "testing", "fixture", "fixtures"})
_EXAMPLES_ASKED: Final = frozenset({"example", "examples", "demo", "demos", "benchmark", "benchmarks"})
_HISTORY_ASKED: Final = frozenset({"changelog", "changes", "history", "migration", "news", "release", "releases"})
_DOCUMENTS_ASKED: Final = frozenset(
    {"doc", "docs", "document", "documented", "documentation", "guide", "license", "manual", "readme", "tutorial"}
)


@dataclass(frozen=True, slots=True)
class Standing:
    """The part of its score that a place in a file keeps, and whether the file is prose, about code elsewhere."""

    share: float
    is_prose: bool


def standing(path: str, asked: Collection[str]) -> Standing:
    """Rate a file for a question of the words `asked`: what is asked for by name loses nothing."""
    *directories, name = path.lower().split("/")
    stem, _, suffixes = name.partition(".")
    suffix = suffixes.rpartition(".")[2]
    kept = 1.0
    if _is_test(directories, name, stem) and _TESTS_ASKED.isdisjoint(asked):
        kept *= _TEST
    if not _EXAMPLE_DIRECTORIES.isdisjoint(directories) and _EXAMPLES_ASKED.isdisjoint(asked):
        kept *= _EXAMPLE
    if suffix in _PROSE and _is_history(directories, stem):
        is_prose, told = _HISTORY_ASKED.isdisjoint(asked), _HISTORY
    else:
        is_document = suffix in _DOCUMENT_SUFFIXES or not _DOCUMENT_DIRECTORIES.isdisjoint(directories)
        is_prose, told = is_document and _DOCUMENTS_ASKED.isdisjoint(asked), _DOCUMENT
    return Standing(kept * told if is_prose else kept, is_prose)


def _is_test(directories: list[str], name: str, stem: str) -> bool:
    return (
        not _TEST_DIRECTORIES.isdisjoint(directories)
        or stem.startswith("test_")
        or stem.endswith("_test")
        or stem == "conftest"
        or ".test." in name
        or ".spec." in name
    )


def _is_history(directories: list[str], stem: str) -> bool:
    return bool(_HISTORY_NAME.match(stem)) or any(map(_HISTORY_DIRECTORY.match, directories))
