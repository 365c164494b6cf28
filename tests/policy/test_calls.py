"""Verdicts on the calls of tools: deny wins over ask, ask over allow, and a path is judged by where it leads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents.config import CallRules, judge_call
from ohm_subagents.contract.call_rules import split_calls

CWD = Path("/work")


def rules_of(allow=None, ask=(), deny=(), source="a"):
    return split_calls(None if allow is None else tuple(allow), tuple(deny), tuple(ask), source=source).unwrap().rules


def verdict(rules, tool, cwd=CWD, **arguments):
    return judge_call(rules, tool, arguments, cwd=cwd).verdict


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git diff", "allow"),
        ("git push", "ask"),
        ("ls; env git push", "ask"),
        ("git push --force", "deny"),
        ("sh -c 'git push --force'", "deny"),
        ("$X", "deny"),
    ],
)
def test_a_command_is_asked_about_where_none_denies_it(line, expected):
    rules = rules_of(ask=["bash: git push *"], deny=["bash: git push --force *"])
    assert verdict(rules, "bash", command=line) == expected


def test_a_line_whose_commands_cannot_be_known_is_asked_about():
    assert verdict(rules_of(ask=["bash: git push *"]), "bash", command="$X") == "ask"


def test_what_is_asked_about_is_not_thereby_allowed():
    rules = rules_of(allow=["bash: git diff *"], ask=["bash: git push *"])
    assert verdict(rules, "bash", command="git push") == "deny"
    both = rules_of(allow=["bash: git diff *", "bash: git push *"], ask=["bash: git push *"])
    assert [verdict(both, "bash", command=line) for line in ("git diff", "git push", "ls")] == ["allow", "ask", "deny"]


def test_a_tool_that_is_asked_about_as_a_whole_is_asked_about_in_every_call():
    rules = rules_of(ask=["edit", "mcp_*"])
    assert verdict(rules, "Edit", path="a.py") == "ask"
    assert verdict(rules, "mcp_search", query="x") == "ask"
    assert verdict(rules, "read", path="a.py") == "allow"


def test_an_ask_that_somebody_wrote_is_told_before_one_of_a_built_in_profile():
    default = CallRules(tool="edit", ask=("*",), source="built in", is_default=True)
    written = CallRules(tool="edit", ask=("*",), source="ohm.json:3")
    assert judge_call([default], "edit", {"path": "a"}, cwd=CWD).is_default
    decision = judge_call([default, written], "edit", {"path": "a"}, cwd=CWD)
    assert (decision.source, decision.is_default) == ("ohm.json:3", False)


@pytest.fixture
def tree(tmp_path):
    """A working directory with links that leave it, and one that stays."""
    work, out = tmp_path / "work", tmp_path / "out"
    for folder in (work / "src" / "deep", work / "secrets", out):
        folder.mkdir(parents=True)
    (work / "src" / "out").symlink_to(out)
    (work / "src" / "hidden").symlink_to(work / "secrets")
    (work / "src" / "self").symlink_to("self")
    (work / "link").symlink_to(work / "src")
    return work


INSIDE = ["src/a.py", "./src/a.py", "src/deep/../a.py", "link/a.py", "src//a.py", "src", "{cwd}/src/a.py"]
OUTSIDE = [
    "a.py",
    "src/../a.py",
    "src/../../x",
    "srcs/a.py",
    "src/out/a.py",
    "link/out/x",
    "src/hidden/key",
    "src/out/../secrets/key",
    "src/deep/../../secrets/key",
    "/etc/passwd",
    "~/x",
    "~root/x",
    "@/etc/passwd",
    "@~/x",
    " /etc/passwd",
    "/etc/passwd ",
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "file:///%65tc/passwd",
    "src/../../../../../../../etc/passwd",
    "{cwd}/../x",
    "{cwd}src/a.py",
    "//etc/passwd",
    "src/self/../../x",
    "src/self/../out/x",
    "SRC/a.py",
    "src\x00/../../x",
    "src/\ud800",
    "@src/a.py",
    "~/../src/a.py",
    ".",
    "",
    "src/..",
    "link/..",
    "src/" + "x" * 300 + "/../../../etc",
    "src/\u00a0/../../x",
]


@pytest.mark.parametrize("path", INSIDE)
def test_a_path_inside_is_allowed_however_it_is_written(tree, path):
    assert verdict(rules_of(allow=["edit: src/**"]), "edit", tree, path=path.format(cwd=tree)) == "allow"


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("name", ["path", "file_path"])
def test_no_path_that_may_lead_out_is_allowed(tree, path, name):
    given = {name: path.replace("{cwd}", str(tree))}
    assert judge_call(rules_of(allow=["edit: src/**"]), "edit", given, cwd=tree).verdict == "deny"


@pytest.mark.parametrize(
    "path",
    [
        "secrets",
        "secrets/key",
        "Secrets/KEY",
        "./secrets/key",
        "src/../secrets/key",
        "src/hidden/key",
        "link/hidden",
        "{cwd}/secrets/key",
        "src/out/../../secrets/key",
        "link/../secrets/key",
        "@secrets/key",
        "file://{cwd}/secrets/key",
    ],
)
@pytest.mark.parametrize("kind", ["ask", "deny"])
def test_a_ruled_path_is_found_however_it_is_written(tree, path, kind):
    rules = rules_of(**{kind: ["read: secrets"]})
    assert verdict(rules, "Read", tree, path=path.replace("{cwd}", str(tree))) == kind


def test_other_paths_are_let_be(tree):
    rules = rules_of(deny=["read: secrets", "read: **/.env"])
    assert [verdict(rules, "read", tree, path=path) for path in ("src/a", "secrets.md", "a/.env", ".env")] == [
        "allow",
        "allow",
        "deny",
        "deny",
    ]


def test_a_link_in_a_denied_pattern_denies_where_it_leads(tree):
    rules = rules_of(deny=["read: src/hidden/**"])
    assert verdict(rules, "read", tree, path="secrets/key") == "deny"


def test_a_link_in_an_allowed_pattern_allows_nothing_behind_it(tree):
    rules = rules_of(allow=["read: src/out/**"])
    assert verdict(rules, "read", tree, path="src/out/x") == "deny"


@pytest.mark.parametrize("tool", ["grep", "find", "code_search"])
def test_a_search_above_a_denied_directory_would_read_it(tree, tool):
    rules = rules_of(deny=[f"{tool}: secrets/**"])
    assert [verdict(rules, tool, tree, **at) for at in ({}, {"path": "."}, {"path": "src"}, {"path": "secrets"})] == [
        "deny",
        "deny",
        "allow",
        "deny",
    ]
    assert verdict(rules_of(deny=[f"{tool}: src/**/*.pem"]), tool, tree, path="src/deep") == "deny"
    assert verdict(rules_of(deny=[f"{tool}: src/*/x.pem"]), tool, tree, path="secrets") == "allow"


def test_a_listing_reads_one_directory(tree):
    rules = rules_of(deny=["ls: secrets"])
    assert [verdict(rules, "ls", tree, **at) for at in ({}, {"path": "secrets"})] == ["allow", "deny"]


@pytest.mark.parametrize("arguments", [{}, {"path": None}, {"path": 5}, {"path": ["src/a"]}, {"other": "src/a"}])
def test_a_call_without_a_path_is_denied(tree, arguments):
    assert judge_call(rules_of(allow=["edit: src/**"]), "edit", arguments, cwd=tree).verdict == "deny"
    assert judge_call(rules_of(deny=["edit: src/**"]), "edit", arguments, cwd=tree).verdict == "deny"


def test_every_path_of_a_call_counts(tree):
    given = {"path": "src/a", "file_path": "/etc/passwd"}
    assert judge_call(rules_of(allow=["edit: src/**"]), "edit", given, cwd=tree).verdict == "deny"


def test_a_pattern_may_be_absolute_or_of_the_home_directory(tree, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    rules = rules_of(allow=[f"read: {tmp_path}/out/**", "read: ~/notes/*.md"])
    paths = (f"{tmp_path}/out/a", "../out/a", "~/notes/a.md", "~/notes/a.txt", "src/a")
    assert [verdict(rules, "read", tree, path=path) for path in paths] == ["allow", "allow", "deny", "deny", "deny"]
    assert verdict(rules, "read", tree, path=f"{tmp_path}/notes/a.md") == "allow"


def test_a_directory_with_signs_of_patterns_in_its_name_is_taken_as_it_is(tmp_path):
    work = tmp_path / "a[b]*"
    work.mkdir()
    assert verdict(rules_of(allow=["edit: src/**"]), "edit", work, path="src/a") == "allow"
    assert verdict(rules_of(allow=["edit: src/**"]), "edit", work, path=f"{tmp_path}/abc/src/a") == "deny"


def test_a_tool_of_a_server_is_ruled_by_one_argument():
    rules = rules_of(allow=["deploy: env=dev*", "deploy: env=test"])
    cases = {"dev": "allow", "dev2": "allow", "Test": "deny", "prod": "deny"}
    assert {env: verdict(rules, "deploy", env=env) for env in cases} == cases
    assert verdict(rules, "deploy") == "deny"
    denied = rules_of(deny=["deploy: env=prod"], ask=["deploy: count=5"])
    assert verdict(denied, "deploy", env="PROD", count=1) == "deny"
    assert verdict(denied, "deploy", env="dev", count=5) == "ask"
    assert verdict(denied, "deploy", env="dev", count=1) == "allow"
    assert verdict(denied, "deploy", count=1) == "deny"


_PATHS = st.lists(
    st.sampled_from(["src", "secrets", "deep", "..", ".", "out", "hidden", "link", "self", "a", "~", "SRC", "/", ""]),
    max_size=6,
).map("/".join)


@given(st.data())
def test_no_path_that_is_allowed_leads_elsewhere(tmp_path_factory, data):
    work = tmp_path_factory.getbasetemp() / "laws"
    if not work.exists():
        (work / "src" / "deep").mkdir(parents=True)
        (work / "secrets").mkdir()
        (work / "src" / "hidden").symlink_to("../secrets")
        (work / "src" / "out").symlink_to("/")
        (work / "link").symlink_to("src")
        (work / "src" / "self").symlink_to("self")
    path = data.draw(_PATHS)
    tool = data.draw(st.sampled_from(["read", "edit", "grep", "ls"]))
    where = Path(os.path.realpath(work / path))
    src, secrets = Path(os.path.realpath(work / "src")), Path(os.path.realpath(work / "secrets"))
    if verdict(rules_of(allow=[f"{tool}: src/**"]), tool, work, path=path) == "allow":
        assert where.is_relative_to(src)
    if verdict(rules_of(deny=[f"{tool}: secrets"]), tool, work, path=path) == "allow":
        assert not where.is_relative_to(secrets)
        assert tool != "grep" or not secrets.is_relative_to(where)
