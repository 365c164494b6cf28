"""A profile file: everything that can be written, and everything that can be wrong."""

from decimal import Decimal

import pytest

from ohm_subagents._profiles.markdown import parse_profile
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.limits import Budget, Limits
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import InputSpec, Profile, ToolPolicy
from ohm_subagents.contract.result import Err

WHOLE = """\
---
# a comment
id: Code-Reviewer
name: Reviewer
summary: "Reviews: carefully."
whenToUse:
  - before a merge
  - after a scare
primary: true
internal: yes
model: Acme/big:High
fallbackModel: local/search
backend: interactive-sdk
tools:
  allow: [read, grep]
  deny: [bash]
inputs:
  - {name: task, role: prompt, required: true, description: What to review.}
  - {name: files, role: files}
feature: painterImagegen
limits: {idleMs: 1, toolMs: 2, softMs: 3, extendMs: 4, capMs: 5}
budget:
  requests: 6
  tokens: 7
  costUsd: 0.1
  toolCalls: 8
  spawns: 0
  depth: 0
  wallMs: 9
polling: [status, wait]
env: [NPM_TOKEN]
---

You review.

---
Not front matter.
"""


def parse(text: str, stem: str = "reviewer"):
    return parse_profile(text, source="reviewer.md", stem=stem)


def profile_of(text: str) -> Profile:
    parsed = parse(text)
    assert not isinstance(parsed, Err), parsed
    return parsed.ok_value.profile


def test_every_key_of_a_profile_is_read():
    assert profile_of(WHOLE) == Profile(
        id="code-reviewer",
        name="Reviewer",
        summary="Reviews: carefully.",
        prompt="You review.\n\n---\nNot front matter.",
        when_to_use=("before a merge", "after a scare"),
        primary=True,
        internal=True,
        model=ModelPattern(provider="acme", model="big", thinking="high"),
        fallback_model=ModelPattern(provider="local", model="search"),
        backend="interactive-sdk",
        tools=ToolPolicy(allowed=("read", "grep"), denied=("bash",)),
        inputs=(
            InputSpec(name="task", role="prompt", required=True, description="What to review."),
            InputSpec(name="files", role="files"),
        ),
        feature="painterImagegen",
        limits=Limits(idle_ms=1, tool_ms=2, soft_ms=3, extend_ms=4, cap_ms=5),
        budget=Budget(requests=6, tokens=7, cost_usd=Decimal("0.1"), tool_calls=8, spawns=0, depth=0, wall_ms=9),
        polling=("status", "wait"),
        env=("NPM_TOKEN",),
        source="reviewer.md",
    )


def test_a_summary_and_a_prompt_are_enough():
    profile = profile_of("---\nsummary: Reviews.\n---\nYou review.\n")
    assert (profile.id, profile.name, profile.tools) == ("reviewer", "Reviewer", ToolPolicy())
    assert (profile.inputs, profile.primary, profile.internal, profile.model) == ((), False, False, None)


@pytest.mark.parametrize(
    "text",
    [
        "---\r\nsummary: Reviews.\r\n---\r\nYou review.\r\n",
        "\ufeff---\nsummary: Reviews.\n---\nYou review.",
        "---  \ndescription: Reviews.\n---\t\n\n\nYou review.\n\n",
        "---\nsummary: Reviews.\nmodel:\nbackend: null\ntools: ~\n---\nYou review.",
    ],
    ids=["crlf", "bom", "description", "keys without values"],
)
def test_spellings_that_mean_the_same(text):
    profile = profile_of(text)
    assert (profile.summary, profile.prompt, profile.model) == ("Reviews.", "You review.", None)


@pytest.mark.parametrize(
    ("written", "policy"),
    [
        ("tools: []", ToolPolicy(allowed=())),
        ("tools: [read]", ToolPolicy(allowed=("read",))),
        ("tools: read", ToolPolicy(allowed=("read",))),
        ("tools: read, write_todos,edit_todos", ToolPolicy(allowed=("read", "write_todos", "edit_todos"))),
        ("tools: {deny: [bash, write]}", ToolPolicy(denied=("bash", "write"))),
        ("tools: {allow: []}", ToolPolicy(allowed=())),
        ("tools: {}", ToolPolicy()),
    ],
)
def test_tools_are_a_list_or_two(written, policy):
    assert profile_of(f"---\nsummary: S\n{written}\n---\nP").tools == policy


@pytest.mark.parametrize(
    ("matter", "line", "fact", "advice"),
    [
        ("name: x", 2, "lacks 'summary'", "Add it"),
        ("summary: S\nid: 'no spaces'", 3, "has 'no spaces' as 'id'", "letters, digits"),
        ("summary: S\nid: 7", 3, "has 7 as 'id'", "letters, digits"),
        ("summary: S\nid: ../../etc", 3, "has '../../etc' as 'id'", "letters, digits"),
        ("summary: [S]", 2, "has [\"S\"] as 'summary'", "a text that is not blank"),
        ("summary: S\nprimary: maybe", 3, "has 'maybe' as 'primary'", "true or false"),
        ("summary: S\n\nmodel: big", 4, "has 'big' as 'model'", "<provider>/<model>"),
        ("summary: S\nwhenToUse: always", 3, "has 'always' as 'whenToUse'", "a list"),
        ("summary: S\nwhenToUse:\n  - a\n  - {b: 1}", 5, "has {\"b\": 1} as 'whenToUse.1'", "a text"),
        ("summary: S\ntools: 5", 3, "has 5 as 'tools'", "a list of the names of tools, or an object with 'allow'"),
        (
            "summary: S\ntools: {allow: [a], permit: [b]}",
            3,
            "has the unknown key 'tools.permit'",
            "Known here: allow, ask, deny.",
        ),
        (
            "summary: S\ntools: {allow: [read, bash], deny: [bash]}",
            3,
            "has a wrong 'tools'",
            "'bash' is both allowed and denied",
        ),
        ("summary: S\nlimits:\n  capMs: 0", 4, "has 0 as 'limits.capMs'", "a positive integer"),
        ("summary: S\nlimits: {cap_ms: 5}", 3, "has the unknown key 'limits.cap_ms'", "Did you mean 'capMs'?"),
        ("summary: S\nlimits: {capms: 5}", 3, "has the unknown key 'limits.capms'", "Did you mean 'capMs'?"),
        ("summary: S\nisolation: worktree", 3, "has 'worktree' as 'isolation'", "clone"),
        ("summary: S\ndisallowedTools: [bash]", 3, "has the unknown key 'disallowedTools'", "'tools' has 'allow' and"),
        ("summary: S\nlimits: {x: 5}", 3, "has the unknown key 'limits.x'", "capMs, extendMs, idleMs, "),
        ("summary: S\nlimits: 5 min", 3, "has '5 min' as 'limits'", "an object"),
        ("summary: S\nbudget:\n  depth: 1\n  requests: many", 5, "has 'many' as 'budget.requests'", "a positive"),
        ("summary: S\nbudget:\n  costUsd: 0", 4, "has 0 as 'budget.costUsd'", "a decimal text above 0"),
        ("summary: S\nbudget: {costUsd: .nan}", 3, "has NaN as 'budget.costUsd'", "a decimal text above 0"),
        ("summary: S\nbudget: {depth: -1}", 3, "has -1 as 'budget.depth'", "an integer, 0 or more"),
        ("summary: S\nbudget: {request: 1}", 3, "has the unknown key 'budget.request'", "Did you mean 'requests'?"),
        ("summary: S\nbudget: {x: 1}", 3, "has the unknown key 'budget.x'", "costUsd, depth, requests, "),
        ("summary: S\npolling: wait", 3, "has 'wait' as 'polling'", "a list"),
        ("summary: S\npolling: [' ']", 3, "has ' ' as 'polling.0'", "a text that is not blank"),
        ("summary: S\nfeature: warp", 3, "has 'warp' as 'feature'", "one of handoff, subagents"),
        ("summary: S\ninputs: [query]", 3, "has 'query' as 'inputs.0'", "an object"),
        (
            "summary: S\ninputs:\n  - name: q\n    role: text",
            5,
            "has 'text' as 'inputs.0.role'",
            "one of 'prompt', 'context'",
        ),
        (
            "summary: S\ninputs:\n  - name: a b\n    role: prompt",
            4,
            "has 'a b' as 'inputs.0.name'",
            "letters, digits and '_'",
        ),
        (
            "summary: S\ninputs: [{name: q, role: context}]",
            3,
            "has a wrong 'inputs'",
            "exactly one input has to have the role",
        ),
        (
            "summary: S\ninputs: [{name: q, role: prompt}, {name: q, role: context}]",
            3,
            "has a wrong 'inputs'",
            "a name of its own",
        ),
        ("summary: a: b", 2, "is not valid YAML", "in quotes"),
        ("summary: S\n\tname: x", 3, "is not valid YAML", ""),
        ("summary: S\nsummary: T", 3, "is not valid YAML", "It gives a key twice."),
        ("summary: !!python/name:os.system x", 2, "has a tag", "Write the value itself."),
        ("- a\n- b", 2, "has front matter that is not a list of keys", "key: value"),
        ("", 2, "lacks 'summary'", ""),
        ("# name: N", 2, "lacks 'summary'", ""),
        ("summary: &a [*a]", 2, "has an anchor, an alias or a merge key", "Write the value itself."),
        ("name: N\nsummary: *a", 3, "has an anchor, an alias or a merge key", "Write the value itself."),
        ("summary: S\n<<: {name: N}", 3, "has an anchor, an alias or a merge key", "Write the value itself."),
        ("summary: S\n? - [a]\n: b", 2, "is not valid YAML", "of a kind that is not allowed"),
        ("summary: S\n? - - [a]\n: b", 2, "is not valid YAML", "of a kind that is not allowed"),
    ],
)
def test_what_is_wrong_is_told_with_file_line_key_value_and_what_is_allowed(matter, line, fact, advice):
    parsed = parse(f"---\n{matter}\n---\nPrompt.")
    assert isinstance(parsed, Err)
    error = parsed.err_value
    assert error.code == ErrorCode.PROFILE_INVALID
    assert error.message == f"The profile reviewer.md:{line} {fact}."
    assert advice.lower() in error.advice.lower()
    assert error.advice.endswith((".", "?"))


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("", "reviewer.md:1 has no front matter"),
        ("You review.", "reviewer.md:1 has no front matter"),
        ("---\nsummary: S\nYou review.", "reviewer.md:1 has no front matter"),
        ("---\nsummary: S\n---\n  \n", "reviewer.md has no prompt"),
        ("---\nsummary: S\n---", "reviewer.md has no prompt"),
    ],
)
def test_a_file_without_its_two_parts_is_told(text, fact):
    parsed = parse(text)
    assert isinstance(parsed, Err)
    assert parsed.err_value.message == f"The profile {fact}."


def test_a_stem_that_is_no_id_is_told():
    parsed = parse("---\nsummary: S\n---\nP", stem="My Agent")
    assert isinstance(parsed, Err)
    assert "has 'My Agent' as 'id'" in parsed.err_value.message


def test_unknown_keys_are_named_and_ignored():
    parsed = parse("---\nsummary: S\ncolor: red\ndescription: D\nmaxTurns: 3\n---\nP")
    assert not isinstance(parsed, Err)
    assert [(one.subject, one.line) for one in parsed.ok_value.diagnostics] == [("color", 3), ("maxTurns", 5)]
    assert str(parsed.ok_value.diagnostics[0]).startswith(
        "reviewer.md:3: 'color' is not a key of a profile, and is ignored. Known: accept, backend, budget, delegate, "
    )


def test_deep_nesting_is_a_fault_and_no_exception():
    assert isinstance(parse(f"---\nsummary: {'[' * 5000}\n---\nP"), Err)


def test_every_fault_of_a_file_is_told_and_the_unknown_key_too():
    parsed = parse_profile("---\nsumary: S\nprimary: maybe\n---\nP", source="x.md", stem="x")
    assert isinstance(parsed, Err)
    assert str(parsed.err_value) == (
        "The profile x.md:2 lacks 'summary'. Add it to the front matter. "
        "Line 2 has the unknown key 'sumary'. Did you mean 'summary'? "
        "Line 3 has 'maybe' as 'primary'. It has to be true or false."
    )


@pytest.mark.parametrize("name", ["fast", "inherit"])
def test_a_name_of_the_menu_stands_for_a_model(name):
    text = f"---\nsummary: S\nmodel: {name}\n---\nP"
    profile = parse_profile(text, source="reviewer.md", stem="a", menu=("fast",)).unwrap().profile
    assert (profile.model, profile.model_name) == (None, name)


def test_a_name_that_is_not_in_the_menu_is_told_with_those_that_are():
    parsed = parse_profile("---\nsummary: S\nmodel: fsat\n---\nP", source="reviewer.md", stem="a", menu=("fast",))
    error = parsed.err_value
    assert error.message == "The profile reviewer.md:3 has 'fsat' as 'model'."
    assert error.advice.endswith(", or one of fast, inherit.")
