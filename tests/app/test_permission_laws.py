"""The laws of permissions from end to end: files and call, then what a subagent is given, may do, and may do again."""

import json
import tempfile
from pathlib import Path

import anyio
import pytest
from acting import ActingBackend
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ohm_subagents import Ohm

TOOLS = ("read", "bash", "edit", "write", "grep")
PATTERNS = (
    *("bash: git push *", "bash: git diff *", "bash: ls", "bash: git *"),
    *("edit: src/**", "edit: src/a.py", "read: **/.env", "grep: secrets"),
)
CALLS = (
    *(("bash", {"command": line}) for line in ("git push", "git diff; ls", "ls", "$X", "env git push")),
    *((tool, {"path": path}) for tool in ("edit", "read", "grep") for path in ("src/a.py", ".env", "secrets/x")),
    ("write", {"path": "src/a.py", "content": ""}),
)
ALLOWED, ASKED, DENIED = range(3)
entries = st.lists(st.sampled_from((*TOOLS, *PATTERNS)), max_size=3, unique=True)


@st.composite
def lists(draw):
    """Lists of tools as a file has them; what one file both allows and denies would be refused."""
    allow, ask, deny = draw(st.none() | entries), draw(entries), draw(entries)
    named = {entry.partition(":")[0] for entry in allow or ()}
    found = {"ask": ask, "deny": [one for one in deny if one not in {*named, *(allow or ())}]}
    return found if allow is None else {"allow": allow, **found}


def added(*more):
    """Lists that only add rules, as those of the user do."""
    return {name: list(dict.fromkeys(entry for each in more for entry in each[name])) for name in ("ask", "deny")}


def shuffled(found, random):
    return {name: random.sample(entries, len(entries)) for name, entries in found.items()}


class Place:
    """A user and a project with files, on a backend that notes what each run is given and may do."""

    def __init__(self, root):
        self.root, self.cwd = Path(root), Path(root) / "project"
        (self.root / "subagents").mkdir()
        (self.cwd / ".pi").mkdir(parents=True)
        self.backend = ActingBackend(self.act)
        self.ohm = None
        self.noted = {}

    async def act(self, request, _sink):
        """Note the tools and the verdicts, and have the profile that the prompt names do the same below this run."""
        refusals = [await request.gate.tool(tool, arguments) for tool, arguments in CALLS]
        verdicts = [_verdict(refusal) for refusal in refusals]
        assert all(
            found == DENIED for (tool, _), found in zip(CALLS, verdicts, strict=True) if tool not in request.tools
        )
        self.noted[request.prompt.partition(">")[0]] = request.tools, verdicts
        if below := request.prompt.partition(">")[2]:
            (await self.ohm.run(below, below)).unwrap()
        return "done"

    def profile(self, name, found):
        text = f"---\nid: {name}\nsummary: Works.\ntools: {json.dumps(found)}\n---\nWork."
        (self.root / "subagents" / f"{name}.md").write_text(text)

    def open(self, user, project):
        subagents = {name: {"tools": found} for name, found in user.items()}
        rest = {
            "store": "sqlite",
            "sendToFinished": "resume",
            "requests": {"unattended": "deny"},
            "budget": {"depth": 2},
        }
        config = {"subagentBackend": "acting", "subagents": {**subagents, **rest}}
        (self.root / "ohm.json").write_text(json.dumps(config))
        tools = {name: {"tools": found} for name, found in project.items()}
        (self.cwd / ".pi" / "ohm.json").write_text(json.dumps({"subagents": tools}))
        env = {"HOME": str(self.root), "PI_CONFIG_DIR": str(self.root)}
        return Ohm.open(cwd=self.cwd, env=env, plugins=[self.backend])


def _verdict(refusal):
    if refusal is None:
        return ALLOWED
    return ASKED if "demands that somebody allows it" in refusal else DENIED


async def played(place, file, user, project, call, random):
    """Play runs of profiles that differ in the lists that hold for them; return what each may do, by its name."""
    ruled = {
        "plain": {},
        "lead": user,
        "narrow": added(user, project),
        "whole": added(user),
        "mixed": shuffled(user, random),
    }
    for name in ruled:
        place.profile(name, shuffled(file, random) if name == "mixed" else file)
    own = {"whole": project, "mixed": shuffled(project, random)}
    async with place.open({name: found for name, found in ruled.items() if found}, own) as place.ohm:
        for name in ("plain", "lead", "narrow", "whole"):
            (await place.ohm.run(name, name)).unwrap()
        twice = {name: [*found, *found] for name, found in call.items()}
        first = (await place.ohm.run("whole", "called", **call)).unwrap()
        (await place.ohm.run("mixed", "again", **shuffled(twice, random))).unwrap()
        (await place.ohm.run("lead", "above>whole")).unwrap()
        place.noted["below"] = place.noted["whole"]
    async with place.open({name: found for name, found in ruled.items() if found}, own) as place.ohm:
        (await place.ohm.run("whole", "whole")).unwrap()
        (await place.ohm.handle(first.task_id).send("resumed")).unwrap()
    return place.noted


def holds(examples, directory):
    @settings(max_examples=examples, deadline=None, phases=[Phase.explicit, Phase.generate])
    @given(lists(), lists().map(added), lists(), lists(), st.randoms(use_true_random=False))
    def law(file, user, project, call, random):
        call.pop("ask")
        with tempfile.TemporaryDirectory(dir=directory) as root:
            noted = anyio.run(played, Place(root), file, user, project, call, random)
        verdicts = {name: found for name, (_, found) in noted.items()}
        stricter = [("plain", "lead"), ("lead", "narrow"), ("lead", "whole"), ("narrow", "whole"), ("whole", "called")]
        for mild, strict in (*stricter, ("lead", "below"), ("whole", "below")):
            assert set(noted[strict][0]) <= set(noted[mild][0]), f"{strict} is given more than {mild}"
            assert all(now >= was for was, now in zip(verdicts[mild], verdicts[strict], strict=True)), (mild, strict)
        assert noted["again"] == noted["called"], "the order of a list, and an entry that stands twice, change nothing"
        assert noted["resumed"] == noted["called"], "what continues a task may do the same"
        assert verdicts["below"] == [max(*both) for both in zip(verdicts["lead"], verdicts["whole"], strict=True)]

    law()


@pytest.mark.parametrize("examples", [4, pytest.param(30, marks=pytest.mark.slow)])
def test_no_file_call_or_depth_gives_more_and_no_order_or_resumption_changes_a_verdict(examples, tmp_path):
    holds(examples, tmp_path)
