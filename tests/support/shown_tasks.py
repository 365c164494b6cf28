"""A process that keeps tasks for somebody to look at: a release that is prepared, as it is after a few minutes.

`python shown_tasks.py <folder> <children> <others>` writes a start with so many children, and so many tasks before it,
says the id of the start, and runs until its standard input ends.
"""

import json
import sys
from dataclasses import replace
from decimal import Decimal
from functools import partial
from random import Random
from time import time

import anyio
from anyio import to_thread
from made_tasks import queued_task

from ohm_subagents import Ohm
from ohm_subagents.contract import (
    AccountCharged,
    AnswerAwaited,
    Cancelled,
    Failed,
    GuardTripped,
    OhmError,
    Request,
    RequestHeld,
    RequestReleased,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskQueued,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
    apply,
)
from ohm_subagents.contract.model_route import RouteResolved
from ohm_subagents.testing import HERMETIC

MODELS = {
    "finder": ("anthropic", "claude-haiku-4-5", "0.0004"),
    "oracle": ("openai", "gpt-5", "0.0061"),
    "reviewer": ("anthropic", "claude-sonnet-5-5", "0.0038"),
    "tester": ("mistral", "devstral-medium", "0.0009"),
    "task": ("anthropic", "claude-sonnet-5-5", "0.0042"),
}
CALLERS = """The old parser has **three callers** left, and two of them can go:

| caller | what to do |
| --- | --- |
| `src/app/main.py:12` | use `Config.load` |
| `src/app/cli.py:88` | delete it, nothing calls it |
"""
CACHE = """The cache is cold because its **key holds the process id**, which each start changes:

| place | what it does |
| --- | --- |
| `src/app/cache.py:31` | makes the key |
| `src/app/main.py:20` | opens the cache |

```python
def key(path: Path) -> str:
    return f"{VERSION}:{path}"  # and no os.getpid()
```
"""
WORK = [
    ("finder", "Find every caller of the old parser", CALLERS),
    (
        "reviewer",
        "Review the migration of the settings",
        "One finding: a file without `version` is taken for a new one.",
    ),
    ("tester", "Run the tests of the parser", "All 212 tests of the parser pass, in 9.4 s."),
    ("oracle", "Why is the cache cold after a restart?", CACHE),
    ("finder", "Which pages mention the old flag?", "Two pages mention `--legacy`: docs/upgrade.md and docs/cli.md."),
    ("reviewer", "Review the new error messages", "Four of 31 messages name no way out; a text for each is below."),
    ("tester", "Run the tests on Windows paths", "One of 48 tests fails: `C:notes` is taken for a relative path."),
    ("task", "Rewrite the changelog for readers", "The changelog is in the order of what readers gain."),
    ("finder", "Find texts without a translation", "Seven texts have no translation, all in src/app/export.py."),
    ("oracle", "Is the lock held across the await?", "No: it is let go before the request, at src/app/lock.py:57."),
    ("tester", "Measure the start of the command line", "It starts in 142 ms, 20 ms less than release 2.3."),
    ("reviewer", "Check the licences of new packages", "All four new packages are under MIT or Apache-2.0."),
]
READ = ("read", {"path": "src/app/config.py", "offset": 30, "limit": 60}, "def parse_config(text: str) -> Config: ...")
GREP = (
    "grep",
    {"pattern": "parse_config", "path": "src"},
    "src/app/config.py:41\nsrc/app/main.py:12\nsrc/app/cli.py:88",
)
PAGE = ("read", {"path": "docs/upgrade.md"}, "# Upgrade to 2.4\n\nThe flag `--legacy` is gone.")
EDIT = (
    "edit",
    {
        "path": "src/app/config.py",
        "oldText": "def parse_config(text):\n    return json.loads(text)\n",
        "newText": "def parse_config(text: str) -> Config:\n    return Config.model_validate_json(text)\n",
    },
    "changed",
)


def command(line, text):
    return "bash", {"command": line}, text


CALLS = {
    "finder": [GREP, READ, PAGE],
    "oracle": [
        ("read", {"path": "src/app/cache.py"}, "def key(path: Path) -> str: ..."),
        ("grep", {"pattern": "getpid", "path": "src"}, "src/app/cache.py:31"),
        command("python -X dev scripts/trace_locks.py", "3 locks, none held across an await"),
    ],
    "reviewer": [command("git diff v2.3 --stat", "12 files changed"), READ, command("pip-licenses", "MIT, Apache-2.0")],
    "tester": [command("pytest -q tests/test_config.py", "212 passed in 9.41s"), READ, command("pytest -q", "")],
    "task": [READ, EDIT, PAGE],
}
PROMPT = "Prepare release 2.4: find what still uses the old parser, review the changes, and run *all* tests."


class Told:
    """A task whose story is told, each event at a time of its own."""

    def __init__(self, store, at_ms, task_id, **fields):
        self.store, self.at_ms = store, at_ms
        name = fields["profile"].capitalize()
        self.task = queued_task(task_id, created_ms=at_ms, cwd="/home/you/app", name=name, **fields)
        provider, model, cost = MODELS[fields["profile"]]
        self.cost = Decimal(cost)
        self.route = RouteResolved(provider=provider, model=model, runtime="in-process", route="in-process")
        self.tell(TaskQueued())

    def tell(self, *events, after_ms=0):
        self.at_ms += after_ms
        for event in events:
            self.task = apply(self.task, event, at_ms=self.at_ms)
            self.store.save(self.task, event)

    def begin(self, after_ms):
        self.tell(RunStarted(prompt=self.task.assignment.prompt), self.route, after_ms=after_ms)

    def ask_model(self, took_ms, tokens):
        used = Usage(requests=1, input_tokens=tokens, output_tokens=tokens // 9, cached_tokens=tokens // 2)
        self.tell(UsageAdded(usage=replace(used, cost_usd=self.cost * tokens / 1000)), after_ms=took_ms)

    def call(self, number, took_ms, *, ends=True, status="success"):
        calls = CALLS[self.task.assignment.profile]
        tool, args, text = calls[number % len(calls)]
        call_id = f"call_{self.task.activity.event_total}"
        self.tell(ToolStarted(call_id=call_id, tool=tool, args=json.dumps(args)))
        if ends:
            self.tell(ToolEnded(call_id=call_id, tool=tool, status=status, text=text), after_ms=took_ms)

    def end(self, outcome, text=""):
        given = self.task.assignment
        summary = f"{given.name}: {given.description}" if text else ""  # that of a backend which has none
        self.tell(RunEnded(outcome=outcome, output=text, summary=summary), TaskSettled(outcome=outcome), after_ms=200)


def refusal(profile):
    """Return the reason of a failure of the provider that a profile's model has."""
    message = f"{MODELS[profile][0].capitalize()} answered 503 three times."
    return OhmError(code="provider_unavailable", message=message, advice="Run it again later, or choose another model.")


def worked(told, random, share):
    """Let a task ask its model and use its tools for a share of what the others take."""
    told.tell(ThinkingDelta(text="Callers first, then the tests."), after_ms=random.randint(300, 900))
    for number in range(random.randint(2, 6)):
        told.ask_model(int(random.randint(900, 9_000) * share), random.randint(800, 6_000))
        told.call(number, int(random.randint(200, 6_000) * share))


def child(store, random, now_ms, number, parent):
    """Tell of one child, and return it: most succeed; some fail, run, wait, are stuck, or are asked for."""
    profile, description, answer = WORK[number % len(WORK)]
    begun = now_ms - 170_000 + number % 12 * 1_500 + number // 12 * 400
    task_id = f"{parent}_{number:03}"
    told = Told(store, begun, task_id, profile=profile, description=description, prompt=description, parent=parent)
    match number % 12:
        case 7:
            told.begin(400)
            told.ask_model(8_000, 5_200)
            asked = Request(
                id=f"req_{told.task.id}", task_id=told.task.id, session_id=told.task.session_id, profile=profile,
                path=(parent, told.task.id), tool="bash", arguments='{"command": "git tag -s v2.4.0"}',
                reason="the rule `ask: bash` of ohm.json:12", asked_ms=told.at_ms,
            )  # fmt: skip
            if number == 7:
                told.tell(AnswerAwaited(request=asked))
            else:
                told.end(Cancelled(reason="asked"))
        case 8:
            told.begin(400)
            worked(told, random, 1.0)
            told.end(Failed(error=refusal(profile)))
        case 9 if number == 9:
            told.begin(900)
            told.ask_model(9_000, 5_000)
            told.call(2, 0, ends=False)
        case 10 | 11 if number < 12:
            told.begin(now_ms - 40_000 - begun)
            worked(told, random, 0.6)
            told.at_ms = now_ms - 4_000
            told.call(2, 0, ends=False)
        case _:
            told.begin(random.randint(200, 6_000))
            if number % 3 == 0:
                told.tell(RequestHeld(provider="anthropic", why="rate_limit"))
                told.tell(RequestReleased(), after_ms=7_000)
            worked(told, random, 1.4)
            if number % 5 == 1:
                told.tell(GuardTripped(guard="loop", step="warn", message="The same call came three times."))
                worked(told, random, 0.7)
            told.tell(TextDelta(text=answer))
            told.end(Succeeded(), answer)
    return told


def tell_all(store, children, others):
    """Write everything, and return the id of the start."""
    random, now_ms = Random(4), int(time() * 1000)
    for number in range(others):
        profile, description, answer = WORK[random.randrange(len(WORK))]
        at_ms = now_ms - 3_600_000 - (others - number) * 4_000
        told = Told(store, at_ms, f"task_{at_ms}_{number:05}", profile=profile, description=description, prompt="p")
        told.begin(100)
        told.ask_model(random.randint(2_000, 90_000), random.randint(900, 20_000))
        outcome = random.choice([Succeeded()] * 8 + [Failed(error=refusal(profile)), Cancelled(reason="asked")])
        told.end(outcome, answer if outcome == Succeeded() else "")
    title = "Prepare release 2.4"
    lead = Told(store, now_ms - 182_000, f"task_{now_ms}_start", profile="task", description=title, prompt=PROMPT)
    lead.begin(300)
    lead.tell(ThinkingDelta(text="Divide it: search, reviews, tests. Then a summary."), after_ms=2_000)
    lead.ask_model(4_000, 5_600)
    lead.tell(TextDelta(text=f"I divide this among {children} subagents, and wait for them.\n"))
    lead.call(0, 1_200)
    lead.call(1, 800)
    lead.ask_model(3_000, 6_100)
    args = json.dumps({"description": "search, reviews and tests of release 2.4"})
    lead.tell(ToolStarted(call_id="call_batch", tool="task", args=args))
    for number in range(children):
        told = child(store, random, now_ms, number, lead.task.id)
        lead.tell(AccountCharged(usage=told.task.activity.usage))
    return lead.task.id


async def main(folder, children, others):
    env = HERMETIC | {"PI_CONFIG_DIR": folder, "HOME": folder, "OHM_SUBAGENTS_STORE": "sqlite"}
    env["OHM_SUBAGENTS_TASK_MAX_ENTRIES"] = "50000"
    async with Ohm.open(env=env, config={"subagents": {}}) as ohm:
        start = tell_all(ohm.store, children, others)
        await ohm.store.flush()
        sys.stdout.write(f"{start}\n")
        sys.stdout.flush()
        while await to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            pass


if __name__ == "__main__":
    anyio.run(partial(main, sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
