"""One message of each kind, and one report of each event. Run this file to write what is new to the golden files."""

import json
import sys
from decimal import Decimal
from pathlib import Path

from made_tasks import queued_task

from ohm_subagents.contract import (
    AccountCharged,
    AgentEnded,
    AgentOptions,
    AnswerAwaited,
    AnswerGiven,
    Approve,
    Budget,
    CallRules,
    Checkpointed,
    Delegation,
    Diagnostic,
    DiagnosticRaised,
    Failed,
    FeedRead,
    FileChanged,
    Finalized,
    FollowUpTaken,
    GuardTripped,
    Limits,
    ModelPattern,
    ModelSelected,
    OhmError,
    OutcomeChecked,
    Profile,
    Remaining,
    Request,
    RequestHeld,
    RequestReleased,
    RouteResolved,
    RunEnded,
    RunStarted,
    SessionId,
    Succeeded,
    TaskId,
    TaskQueued,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolCeiling,
    ToolEnded,
    ToolPolicy,
    ToolStarted,
    ToolUpdated,
    Usage,
    UsageAdded,
    WorkspaceKept,
)
from ohm_subagents.contract.acceptance import CheckResult
from ohm_subagents.contract.commands import LandWork, Overrides, Session, Start, StartItem
from ohm_subagents.contract.replies import Accepted, CommandRejected, ItemRejected, StartReply
from ohm_subagents.contract.wire import (
    VERSIONS,
    AskLedger,
    AskLeft,
    AskStatus,
    AttachRun,
    BudgetsDeposited,
    CallAsked,
    CallJudged,
    CallWaits,
    CancelRun,
    CaughtUp,
    CommandAnswered,
    CommandShown,
    DepositBudgets,
    EventReported,
    EventTold,
    ExecuteCommand,
    Feed,
    Granted,
    Hello,
    LeaveCommand,
    LedgerAnswered,
    ObserveTasks,
    OhmOpened,
    OhmRefused,
    OpenOhm,
    Poll,
    Post,
    Receipt,
    Refused,
    RequestAsked,
    RequestUsed,
    ResultReported,
    RetryJudged,
    RunUnknown,
    ServerStatus,
    StartRun,
    SteerAnswered,
    SteeringClosed,
    SteeringOpened,
    SteerRun,
    TaskLeft,
    TasksObserved,
    ThrottleReported,
    ToolCalled,
    ToolProgressed,
    ToolReturned,
    UnknownEvent,
    UnsettledRequest,
    UnsettledRun,
    WireExchange,
    WireImage,
    WireRun,
    WireSpec,
    WireTool,
    Workspace,
    dump,
)
from ohm_subagents.contract.wire.callbacks import (
    AttendanceAsked,
    AttendanceTold,
    AttendRequests,
    CallbackLeft,
    FunctionCalled,
    FunctionProgressed,
    FunctionReturned,
    FunctionsLeft,
    RequestAnswered,
    RequestPut,
)
from ohm_subagents.contract.wire.commands import wire_command
from ohm_subagents.contract.wire.replies import wire_reply

USAGE = Usage(requests=1, input_tokens=2, output_tokens=3, cost_usd=Decimal("0.004"))
ERROR = OhmError(code="task_aborted", message="Stopped.", advice="Start it again.", retryable=True, task_id="task_1")
REQUEST = Request(
    id="req_1", task_id=TaskId("task_1"), session_id=SessionId("s"), path=(TaskId("task_1"),), profile="finder"
)
PROFILE = Profile(
    id="finder",
    name="Finder",
    summary="Finds.",
    prompt="Find.",
    tools=ToolPolicy(allowed=("read",), call_rules=(CallRules(tool="read", deny=("secret/**",)),)),
    limits=Limits(cap_ms=1000),
    budget=Budget(cost_usd=Decimal("2.50")),
    agent=AgentOptions(thinking="high"),
    model=ModelPattern(provider="acme", model="m1", thinking="low"),
    result_schema={"type": "object"},
)
SPEC = WireSpec(
    profile=PROFILE,
    description="Look",
    instructions="You find.",
    workspace=Workspace(path="/work"),
    tools=("read",),
    child_tools=(WireTool(name="note", label="Note", description="Notes.", input_schema={"type": "object"}),),
    call_rules=(CallRules(ask=("git push *",)),),
    passes=Delegation(own=ToolCeiling(names=("read",))),
    model=ModelPattern(provider="acme", model="m1"),
)
RUN = WireRun(
    task_id="task_1",
    session_id="session_1",
    prompt="Where?",
    spec=SPEC,
    history=(WireExchange(prompt="Before", output="Yes."),),
    checkpoint="state",
    has_gate=True,
)
EVENTS = [
    TextDelta(text="So"),
    ThinkingDelta(text="Hm"),
    ToolStarted(call_id="1", tool="read", args="{}"),
    ToolUpdated(call_id="1", tool="read", text="…"),
    ToolEnded(call_id="1", tool="read", status="success", text="ok"),
    UsageAdded(usage=USAGE),
    FileChanged(path="a.py"),
    Checkpointed(state="state"),
    Finalized(status="SUCCESS", result="done"),
    AgentEnded(),
    RouteResolved(provider="acme", model="m1", runtime="sdk", program="pi", program_version="0.87.1"),
    DiagnosticRaised(diagnostic=Diagnostic(subject="model", message="Slow.")),
    TaskQueued(),
    RunStarted(prompt="Where?"),
    ModelSelected(model="acme/m1", why="asked as fast"),
    FollowUpTaken(prompt="And?"),
    RequestHeld(provider="acme", why="slots"),
    RequestReleased(),
    AnswerAwaited(request=REQUEST),
    AnswerGiven(request_id="req_1", answer=Approve(), by="program"),
    GuardTripped(guard="idle", step="stop", message="Too long."),
    AccountCharged(usage=USAGE),
    RunEnded(outcome=Succeeded(), output="Here."),
    TaskSettled(outcome=Failed(error=ERROR)),
    UnknownEvent(fields={"kind": "sang", "song": "la"}),
    FeedRead(key="task_1.1", position=7),
    WorkspaceKept(base="b" * 40, ref="refs/ohm/task_1", files=2, insertions=3, deletions=1),
    OutcomeChecked(
        verified="failed",
        checks=(CheckResult(check="run: make", verdict="failed", why="No.", exit_code=2, duration_ms=5, output="x"),),
        attempt=2,
    ),
]
TASK = queued_task("task_1")
ITEM = StartItem(
    profile="finder",
    description="Look",
    prompt="Where?",
    overrides=Overrides(
        model="acme/m1", cwd=Path("/work"), allow=("read",), deny=("bash: rm *",), result_schema={"type": "string"}
    ),
    preface="Be brief.",
    session=Session(id=SessionId("s"), resumes=True),
)
START = Start(items=(ITEM,), background=True, by_program=True, budget=Budget(requests=3))


def note(_tool):
    return SPEC.child_tools[0]


REPLY = StartReply(items=(Accepted(task=TASK, queue_position=1), ItemRejected(item=ITEM, error=ERROR)), backend="none")
SAMPLES = [
    StartRun(run_key="k", run=RUN),
    AttachRun(run_key="k", since=3),
    SteerRun(run_key="k", offer=1, text="And there?"),
    CancelRun(run_key="k", reason="Enough."),
    Granted(run_key="k", ask=1, max_output_tokens=9, is_last=True),
    Refused(run_key="k", ask=1, error=ERROR),
    RetryJudged(run_key="k", ask=1, asks_again=True),
    CallWaits(run_key="k", ask=1),
    CallJudged(run_key="k", ask=1, refusal="No."),
    ToolProgressed(run_key="k", ask=1, text="half"),
    ToolReturned(
        run_key="k", ask=1, text="ok", details={"a": 1}, images=(WireImage(data="UEs=", media_type="image/png"),)
    ),
    *(EventReported(run_key="k", n=number, event=event) for number, event in enumerate(EVENTS, 1)),
    ResultReported(run_key="k", n=9, text="Here.", summary="Found it.", exit_code=0),
    RequestAsked(
        run_key="k",
        n=2,
        ask=1,
        provider="acme",
        model="m1",
        input_tokens=5,
        input_price=Decimal("0.1"),
        output_price=Decimal("0.20"),
    ),
    ThrottleReported(run_key="k", n=2, ask=1, provider="acme", attempt=1, retry_after_s=1.5),
    CallAsked(run_key="k", n=2, ask=1, tool="bash", arguments={"command": "ls"}, call_id="c"),
    ToolCalled(run_key="k", n=2, ask=1, tool="note", arguments={"text": "x"}),
    AskLeft(run_key="k", n=2, ask=1),
    CaughtUp(run_key="k", n=2),
    SteeringOpened(run_key="k", n=2, can_finish=True),
    SteerAnswered(run_key="k", n=2, offer=1, is_taken=True),
    SteeringClosed(run_key="k", n=2),
    RunUnknown(run_key="k"),
    Hello(incarnation="i", versions=(1, 2), backend="none", running=("k",), kept=1),
    AttachRun(run_key="k", since=3, tells_end=True, ledger_after_s=5),
    DepositBudgets(
        owner="o",
        budgets={"b": Remaining(requests=2, tokens=300, cost_usd=Decimal("0.5"))},
        runs={"k": ("b",)},
        claims=("j",),
        settled={"k": (1,)},
        over=("i",),
    ),
    BudgetsDeposited(
        budgets={"b": Remaining(requests=1)},
        unsettled=(
            UnsettledRun(
                run_key="k",
                asks=(1, 2),
                usage=Usage(requests=2),
                requests=(
                    UnsettledRequest(ask=1, usage=Usage(requests=1), told=4),
                    UnsettledRequest(ask=2, usage=Usage(requests=1)),
                ),
            ),
        ),
    ),
    AskLedger(
        asks=({"version": 1, "kind": "request_asked", "run_key": "k", "n": 2, "ask": 3, "provider": "acme"},),
        used=(RequestUsed(run_key="k", ask=2, usage=Usage(requests=1), told=4), RequestUsed(run_key="k", ask=1)),
        wait_s=5,
    ),
    LedgerAnswered(answers=({"version": 1, "kind": "granted", "run_key": "k", "ask": 3},)),
    Post(owner="o", incarnation="i", first=1, messages=({"version": 2, "kind": "cancel", "run_key": "k"},)),
    Post(owner="o", incarnation="i", first=2, shared=({"id": "finder"}, "Find.")),
    Receipt(incarnation="i", taken=1),
    Poll(owner="o", incarnation="i", since=1, acks={"k": 2}, wait_s=5),
    Feed(incarnation="i", first=2, reports=({"version": 2, "kind": "run_unknown", "run_key": "k"},)),
    OpenOhm(versions=(1, 2), cwd="/work", config={"subagentBackend": "none"}, env={"HOME": "/home"}, trust=True),
    OpenOhm(versions=(1, 2), cwd="/work", profiles=(PROFILE,), mcp_servers={"calc": {"command": "calc"}}),
    OhmOpened(speaks=2),
    OhmRefused(reason="No."),
    ExecuteCommand(n=1, command=wire_command(START, note), call="call_1", within=4),
    ExecuteCommand(n=1, command=LandWork(id="task_1"), call="call_1", within=4),
    ExecuteCommand(n=1, command=LandWork(id="task_1", op="discard"), call="call_1", within=4),
    ObserveTasks(n=2, task_id="task_1"),
    LeaveCommand(n=2),
    TasksObserved(n=2, task=TASK, is_here=True),
    CommandShown(n=1, reply=wire_reply(REPLY)),
    CommandAnswered(n=1, reply=wire_reply(CommandRejected(error=ERROR, backend="none", op="send", task_id="task_1"))),
    EventTold(n=1, task_id="task_1", at_ms=5, event=TextDelta(text="Here"), task=TASK),
    TaskLeft(n=1, task_id="task_1"),
    AttendRequests(n=3, by="callback", chooses=True),
    AttendanceAsked(n=3, ask=1, path=("task_1",)),
    AttendanceTold(n=3, ask=1, attends=True),
    RequestPut(n=3, ask=2, request=REQUEST),
    RequestAnswered(n=3, ask=2, answer=Approve("task")),
    RequestAnswered(n=3, ask=3, fault="It failed.", advice="Mend it."),
    FunctionCalled(n=1, ask=4, tool="note", arguments={"text": "x"}, session_id="s"),
    FunctionProgressed(n=1, ask=4, text="half"),
    FunctionReturned(n=1, ask=4, text="ok", details={"a": 1}, images=(WireImage(data="UEs=", media_type="image/png"),)),
    CallbackLeft(n=1, ask=5),
    FunctionsLeft(n=1),
    AskStatus(stops=True),
    ServerStatus(pid=1, release="0.1.0", clients=2, tasks=3),
]


def has_all_of(old, new):
    """Return True if a message says what it said before: nothing is missing, and nothing is written differently."""
    match old, new:
        case dict(), dict():
            return all(key in new and has_all_of(value, new[key]) for key, value in old.items())
        case list(), list():
            return len(old) == len(new) and all(map(has_all_of, old, new))
        case _:
            return old == new


if __name__ == "__main__":
    for version in VERSIONS:
        file = Path(__file__).parents[1] / "contract" / "wire" / f"version_{version}.json"
        samples = [dump(one, version=version) for one in SAMPLES]
        for old in json.loads(file.read_text(encoding="utf-8")) if file.exists() else []:
            if not any(has_all_of(old, new) for new in samples):
                sys.exit(f"Version {version} would change: it says {old}. Write a new version of the messages.")
        text = json.dumps(samples, indent=1, ensure_ascii=False)
        file.write_text(text + "\n", encoding="utf-8")
