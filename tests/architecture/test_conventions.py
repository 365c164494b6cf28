"""Rules of the house that no linter knows."""

import ast
import io
import re
import tokenize
from collections.abc import Callable
from typing import TypeAlias

import pytest

Sources: TypeAlias = Callable[..., dict[str, str]]
EVERYWHERE = ("src/**/*.py", "plugins/**/*.py", "tests/**/*.py", "examples/**/*.py")
MAX_LINES = 300
MAX_FUNCTION_LINES = 50
MAX_FIELDS = 15
MAX_PARAMETERS = 8
SUPPRESSION = re.compile(
    r"#\s*(?P<tool>noqa:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*|(?:type|pyright):\s*ignore\[[\w\-, ]+\])[\s#]*(?P<reason>.*)"
)
BLANKET = re.compile(r"#\s*(noqa(?!:\s*[A-Z])|(type|pyright):\s*ignore(?!\[))|#\s*(ruff|flake8|mypy):", re.IGNORECASE)
SILENCING = re.compile(r"#.*(noqa|ignore|ruff|flake8|mypy)", re.IGNORECASE)


def test_a_module_has_at_most_300_lines(sources: Sources) -> None:
    lengths = {file: len(text.splitlines()) for file, text in sources("src/**/*.py", "plugins/*/src/**/*.py").items()}
    assert {file: length for file, length in lengths.items() if length > MAX_LINES} == {}, "look for the missing noun"


@pytest.mark.slow
def test_no_function_record_or_constructor_hides_a_noun(sources: Sources) -> None:
    code = sources("src/**/*.py", "plugins/*/src/**/*.py")
    assert {file: large for file, text in code.items() if (large := too_large(text))} == {}, "look for the missing noun"


def test_a_frozen_record_below_the_doors_is_made_by_our_dataclass(sources: Sources) -> None:
    code = sources("src/ohm_subagents/contract/**/*.py", "src/ohm_subagents/_*/**/*.py")
    frozen = {file for file, text in code.items() if "\n@dataclass(frozen=True" in text}
    assert len(frozen) > 100
    assert {file for file in frozen if "from ohm_subagents._records import dataclass" not in code[file]} == set()


def too_large(source: str) -> list[str]:
    """Functions of too many lines, records of too many fields, constructors of too many parameters."""
    found: list[str] = []
    left: list[ast.stmt] = [*ast.parse(source).body]
    while left:
        node = left.pop(0)
        left += getattr(node, "body", [])  # expressions are most of a tree, and hold none of these
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                lines = (node.end_lineno or 0) - node.lineno + 1
                parameters = len(node.args.args) + len(node.args.kwonlyargs) - 1
                found += [f"{name}: {lines} lines"] if lines > MAX_FUNCTION_LINES else []
                if name == "__init__" and parameters > MAX_PARAMETERS:
                    found.append(f"line {node.lineno}: {parameters} parameters")
            case ast.ClassDef(name=name, body=body):
                fields = sum(isinstance(one, ast.AnnAssign) for one in body)
                found += [f"{name}: {fields} fields"] if fields > MAX_FIELDS else []
            case _:
                pass
    return found


def test_what_is_too_large_is_seen() -> None:
    long = "def long():\n" + "    pass\n" * MAX_FUNCTION_LINES
    wide = "class Wide:\n" + "".join(f"    field_{number}: int\n" for number in range(MAX_FIELDS + 1))
    names = ", ".join(f"p{number}" for number in range(MAX_PARAMETERS + 1))
    busy = f"class Busy:\n    def __init__(self, {names}):\n        pass\n"
    assert too_large(long + wide + busy) == ["long: 51 lines", "Wide: 16 fields", "line 70: 9 parameters"]


def test_a_docstring_says_what_a_thing_is_or_does_and_no_question(sources: Sources) -> None:
    asking = re.compile(r'^\s*"""(?:What|Whether|How|Where|Which|Why|Who)\b.*', re.MULTILINE)
    assert {file: bad for file, text in sources(*EVERYWHERE).items() if (bad := asking.findall(text))} == {}


@pytest.mark.slow
def test_every_suppression_names_its_rule_and_its_reason(sources: Sources) -> None:
    assert {file: bad for file, text in sources(*EVERYWHERE).items() if (bad := unexplained(text))} == {}


def unexplained(source: str) -> list[str]:
    """Comments that silence a checker without saying why; a run of lines may share the reason of its first line."""
    bad: list[str] = []
    explained: dict[int, str] = {}
    if not SILENCING.search(source):
        return bad
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = token.start[0]
        found = SUPPRESSION.search(token.string)
        if found and (len(found["reason"].split()) > 1 or explained.get(line - 1) == found["tool"]):
            explained[line] = found["tool"]
        elif found or BLANKET.search(token.string):
            bad.append(f"{line}: {token.string}")
    return bad


def test_a_suppression_without_a_reason_is_seen() -> None:
    silenced = [
        "a = 1  # noqa: E501",
        "b = 1  # noqa",
        "c = 1  # type: ignore",
        "d = 1  # type: ignore[arg-type]",
        "# ruff: noqa",
        "e = 1  # pyright: ignore[reportX]",
    ]
    explained = [
        "f = 1  # noqa: E501  it is a long story",
        "g = 1  # noqa: E501",
        "h = 1  # type: ignore[arg-type]  # the stub is wrong",
        "text = '# noqa'",
    ]
    assert len(unexplained("\n".join(silenced))) == len(silenced)
    assert unexplained("\n".join(explained)) == []


def test_a_test_is_never_skipped_without_saying_why(sources: Sources) -> None:
    assert {file: lines for file, text in sources(*EVERYWHERE).items() if (lines := silent_skips(text))} == {}


def silent_skips(source: str) -> list[int]:
    """Lines of `pytest.skip`, `xfail` and their marks that give no reason in words."""
    if "skip" not in source and "xfail" not in source:
        return []
    tree = ast.parse(source)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    lines: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_skip(node.func):
            is_mark = ".mark." in ast.unparse(node.func)
            reasons = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
            reasons += [] if is_mark and not ast.unparse(node.func).endswith(".skip") else node.args
            if not any(not isinstance(reason, ast.Constant) or is_words(reason.value) for reason in reasons):
                lines.append(node.lineno)
        elif isinstance(node, ast.Attribute) and is_skip(node) and id(node) not in called:
            lines.append(node.lineno)
    return lines


def is_skip(function: ast.expr) -> bool:
    if not isinstance(function, ast.Attribute) or function.attr not in {"skip", "skipif", "xfail"}:
        return False  # most calls by far, and unparsing each is slow
    name = ast.unparse(function)
    return name in {"pytest.skip", "pytest.xfail"} or bool(re.search(r"\bmark\.(skip|skipif|xfail)$", name))


def is_words(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def test_a_silent_skip_is_seen() -> None:
    silent = ["pytest.skip()", "pytest.skip('')", "x = pytest.mark.skip", "pytest.mark.skipif(True)", "pytest.xfail()"]
    spoken = [
        "pytest.skip('no network here')",
        "pytest.mark.skipif(True, reason='no network here')",
        "pytest.skip(f'{name} is not there')",
        "pytest.mark.skip(reason='later')",
    ]
    assert silent_skips("\n".join(silent)) == [1, 2, 3, 4, 5]
    assert silent_skips("\n".join(spoken)) == []


SPECIFICATION = re.compile(r"(?<![\w.,$#])(?<!\d )00[0-4](?![\w.,]\d|\d)(?!-)|\btask-v1\b|†|\bQ\d\d\b")
TEXTS = ("src/**/*.py", "src/**/*.md", "plugins/*/src/**/*.py", "docs/**/*.md", "README.md", "CHANGELOG.md")


@pytest.mark.slow
def test_no_text_of_the_product_cites_a_specification_that_its_reader_has_not(sources: Sources) -> None:
    assert {file: found for file, text in sources(*TEXTS).items() if (found := SPECIFICATION.findall(text))} == {}


def test_a_citation_is_seen() -> None:
    assert SPECIFICATION.findall("as 004 says (task-v1, 17.4), †, Q39, in 001's table") == [
        "004",
        "task-v1",
        "†",
        "Q39",
        "001",
    ]
    assert SPECIFICATION.findall("0.004 s, $0.001, 20,000, 20 000 and 1_000 keys") == []


RAISING = re.compile(r"(?<!entry)\.(?:exists|is_dir|is_file)\(\)")


def test_nobody_asks_pathlib_whether_a_file_is_there(sources: Sources) -> None:
    """It raises where a folder on the way may not be looked into; `os.path` says no."""
    code = sources("src/**/*.py", "plugins/*/src/**/*.py")
    assert {file: found for file, text in code.items() if (found := RAISING.findall(text))} == {}


def test_a_question_to_pathlib_is_seen() -> None:
    assert RAISING.findall("place.is_dir(); (a / b).exists(); os.path.isdir(place); entry.is_dir()")
