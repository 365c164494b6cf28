"""Habits of authors, seen in about 700 public files of seven programs: each file here stands for one of many."""

from dataclasses import dataclass

import pytest

from ohm_subagents.agent_files.dialects import DIALECTS
from ohm_subagents.agent_files.reader import parse_agent_file
from ohm_subagents.contract.model_pattern import ModelPattern

ALIASES = {"sonnet": ModelPattern(provider="anthropic", model="claude-sonnet-5-5")}
ALL = None


@dataclass(frozen=True)
class Habit:
    """A file, the tools that it gives, and what is said of it as a warning, in the order of its lines."""

    name: str
    dialect: str
    text: str
    tools: tuple[str, ...] | None = ALL
    said: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


def front(*lines, body="Work."):
    return "\n".join(("---", *lines, "---", body, ""))


HABITS = [
    Habit("a colon in the description", "claude", front("name: a", "description: Use it: always", "model: sonnet")),
    Habit("examples in the description", "claude", front("name: a", r"description: Use it.\n\nExamples:\n<example>x")),
    Habit(
        "a folded description", "claude", front("name: a", "description: >", "  Use", "  it.", "tools: Read"), ("read",)
    ),
    Habit("a quoted one with an apostrophe", "claude", front("name: a", "description: 'It''s for \"you\"'")),
    Habit(
        "tools as a text",
        "claude",
        front("name: a", "description: d", "tools: Read, Grep,Glob"),
        ("read", "grep", "find"),
    ),
    Habit("an empty list", "claude", front("name: a", "description: d", "tools: []"), ()),
    Habit(
        "tools of a team that is not here",
        "claude",
        front("name: a", "description: d", "tools: Read, TaskList, SendMessage"),
        ("read",),
        ("'tools' names 'TaskList', which is no tool here", "'tools' names 'SendMessage', which is no tool here"),
    ),
    Habit("a byte order mark and CRLF", "claude", "\ufeff" + front("name: a", "description: d").replace("\n", "\r\n")),
    Habit("a rule in the body", "claude", front("name: a", "description: d", body="One.\n\n---\n\nTwo.")),
    Habit("a name in capitals with blanks", "github", front("name: My Agent", "description: d")),
    Habit(
        "tool sets of VS Code",
        "github",
        front(
            "description: d", "tools: ['search/codebase', 'edit/editFiles', 'execute/runInTerminal', 'read/problems' ]"
        ),
        ("grep", "find", "edit", "write", "bash"),
        ("'tools' names 'read/problems', which has no counterpart here",),
    ),
    Habit(
        "older names of VS Code",
        "github",
        front("description: d", "tools: ['codebase', 'usages', 'fetch', 'new', 'editFiles']"),
        ("grep", "find", "edit", "write"),
        ("names 'usages', which has no", "names 'fetch', which has no", "names 'new', which has no"),
    ),
    Habit("all tools of a server", "github", front("description: d", "tools: ['github/*']"), ("mcp__github__*",)),
    Habit(
        "the name of a model as it is shown",
        "github",
        front("description: d", "model: GPT-4.1", "tools: ['read']"),
        ("read",),
        ("'model' is 'GPT-4.1', which names no provider",),
    ),
    Habit(
        "keys of another program",
        "cursor",
        front("name: a", "description: d", "tools: Read, Grep", "disallowedTools: Grep", "maxTurns: 3"),
        ("read",),
        ("'maxTurns' is no known key of this format",),
    ),
    Habit(
        "a list where verdicts belong",
        "opencode",
        front("description: d", "tools: [Read, Grep]"),
        (),
        ('\'tools\' is ["Read", "Grep"], but has to be a verdict for each tool: the agent gets no tool',),
    ),
    Habit(
        "verdicts on tools of servers",
        "opencode",
        front("description: d", "tools:", "  'slack_*': false", "  write: false", "  edit: false"),
        ("read", "bash", "grep", "find", "ls", "code_search"),
    ),
    Habit(
        "rules for commands",
        "opencode",
        front("description: d", "permission:", "  bash:", "    '*': deny", "    'git log*': allow"),
        said=("'permission.bash' has rules for patterns, which cannot be kept to: the tool is denied",),
        denied=("bash",),
    ),
    Habit(
        "a sandbox for work",
        "codex",
        'name = "a"\ndescription = "d"\nsandbox_mode = "workspace-write"\ndeveloper_instructions = """\nWork.\n"""\n',
        said=("'sandbox_mode' is 'workspace-write', in which no shell here can be held: 'bash' is denied",),
        denied=("bash",),
    ),
    Habit("tools of Gemini", "gemini", front("name: a", "description: d", "tools:", "  - read_file", "  - '*'")),
    Habit(
        "a model of Qwen",
        "qwen",
        front("name: a", "description: d", "model: inherit", "tools:", "- ReadFile"),
        (),
        ("'ReadFile'",),
    ),
]
REFUSED = [
    ("github", front("name: a", "model: GPT-4.1"), "it has no description. A caller chooses by it: add 'description'."),
    (
        "gemini",
        front("name: a", "description: d", "maxTurns: 3"),
        "it has the unknown key 'maxTurns'. Did you mean 'max_turns'.",
    ),
    (
        "gemini",
        front("name: a", "description: d", "kind: TASK"),
        "it has 'TASK' as 'kind'. Only local agents run here.",
    ),
    ("claude", front("name: a", "description: d", body=""), "it has no prompt."),
]


def read(dialect, text):
    return parse_agent_file(text, DIALECTS[dialect], source="f.md", stem="a", aliases=ALIASES)


@pytest.mark.parametrize("habit", HABITS, ids=lambda one: one.name)
def test_a_habit_is_an_agent_with_what_it_asks_for_or_less(habit):
    file = read(habit.dialect, habit.text)
    said = [one.message for one in file.diagnostics if one.severity != "info"]

    assert (file.profile.tools.allowed, file.profile.tools.denied) == (habit.tools, habit.denied)
    assert len(said) == len(habit.said)
    assert all(part in one for part, one in zip(habit.said, said, strict=True)), said


@pytest.mark.parametrize(("dialect", "text", "sentence"), REFUSED)
def test_a_file_that_its_program_would_refuse_is_left_out_with_a_sentence(dialect, text, sentence):
    file = read(dialect, text)

    assert file.profile is None
    assert sentence in file.diagnostics[-1].message


def test_inherit_is_the_model_of_the_parent():
    text = front("name: a", "description: d", "model: inherit")
    file = read("claude", text)
    assert (file.profile.model, file.profile.model_name) == (None, "inherit")
