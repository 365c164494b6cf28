"""Runs, events and results as versioned JSON, for whoever carries them between processes and machines.

`dump` writes a `WireMessage`, `load` reads it. A submitter, whose tasks they are, sends `StartRun`,
`SteerRun`, `CancelRun` and answers; a runner sends reports. Keys, the environment and functions never travel.
"""

from typing import TYPE_CHECKING

from ohm_subagents._lazy import lazy_names

if TYPE_CHECKING:
    from ohm_subagents.contract.wire.callbacks import (
        AttendanceAsked,
        AttendanceTold,
        AttendRequests,
        CallbackLeft,
        CallbackMessage,
        FunctionCalled,
        FunctionProgressed,
        FunctionReturned,
        FunctionsLeft,
        RequestAnswered,
        RequestPut,
    )
    from ohm_subagents.contract.wire.codec import common_version, dump, kinds, load, load_as, sized
    from ohm_subagents.contract.wire.commands import WireItem, WireOverrides, WireSend, WireStart
    from ohm_subagents.contract.wire.frames import Feed, Hello, Poll, Post, Receipt
    from ohm_subagents.contract.wire.ledger import (
        AskLedger,
        BudgetsDeposited,
        DepositBudgets,
        LedgerAnswered,
        RequestUsed,
        UnsettledRequest,
        UnsettledRun,
    )
    from ohm_subagents.contract.wire.lenient import UnknownEvent
    from ohm_subagents.contract.wire.messages import (
        AnswerMessage,
        AttachRun,
        CallJudged,
        CallWaits,
        CancelRun,
        Granted,
        Refused,
        RetryJudged,
        RunMessage,
        StartRun,
        SteerRun,
        ToolProgressed,
        ToolReturned,
        UnknownMessage,
        WireImage,
        WireMessage,
        WireObject,
    )
    from ohm_subagents.contract.wire.replies import WireCommandRejected, WireItemRejected, WireStartReply
    from ohm_subagents.contract.wire.reports import (
        AskLeft,
        AskMessage,
        CallAsked,
        CaughtUp,
        EventReported,
        RequestAsked,
        ResultReported,
        RunReport,
        RunUnknown,
        SteerAnswered,
        SteeringClosed,
        SteeringOpened,
        ThrottleReported,
        ToolCalled,
    )
    from ohm_subagents.contract.wire.run import WireExchange, WireRun, WireSpec, WireTool, Workspace
    from ohm_subagents.contract.wire.serving import (
        AskingMessage,
        AskStatus,
        CommandAnswered,
        CommandShown,
        EventTold,
        ExecuteCommand,
        LeaveCommand,
        ObserveTasks,
        OhmOpened,
        OhmRefused,
        OpenOhm,
        ServerStatus,
        TaskLeft,
        TasksObserved,
    )
    from ohm_subagents.contract.wire.versions import NEWEST, VERSIONS, WireError

__all__ = [
    "NEWEST",
    "VERSIONS",
    "AnswerMessage",
    "AskLedger",
    "AskLeft",
    "AskMessage",
    "AskStatus",
    "AskingMessage",
    "AttachRun",
    "AttendRequests",
    "AttendanceAsked",
    "AttendanceTold",
    "BudgetsDeposited",
    "CallAsked",
    "CallJudged",
    "CallWaits",
    "CallbackLeft",
    "CallbackMessage",
    "CancelRun",
    "CaughtUp",
    "CommandAnswered",
    "CommandShown",
    "DepositBudgets",
    "EventReported",
    "EventTold",
    "ExecuteCommand",
    "Feed",
    "FunctionCalled",
    "FunctionProgressed",
    "FunctionReturned",
    "FunctionsLeft",
    "Granted",
    "Hello",
    "LeaveCommand",
    "LedgerAnswered",
    "ObserveTasks",
    "OhmOpened",
    "OhmRefused",
    "OpenOhm",
    "Poll",
    "Post",
    "Receipt",
    "Refused",
    "RequestAnswered",
    "RequestAsked",
    "RequestPut",
    "RequestUsed",
    "ResultReported",
    "RetryJudged",
    "RunMessage",
    "RunReport",
    "RunUnknown",
    "ServerStatus",
    "StartRun",
    "SteerAnswered",
    "SteerRun",
    "SteeringClosed",
    "SteeringOpened",
    "TaskLeft",
    "TasksObserved",
    "ThrottleReported",
    "ToolCalled",
    "ToolProgressed",
    "ToolReturned",
    "UnknownEvent",
    "UnknownMessage",
    "UnsettledRequest",
    "UnsettledRun",
    "WireCommandRejected",
    "WireError",
    "WireExchange",
    "WireImage",
    "WireItem",
    "WireItemRejected",
    "WireMessage",
    "WireObject",
    "WireOverrides",
    "WireRun",
    "WireSend",
    "WireSpec",
    "WireStart",
    "WireStartReply",
    "WireTool",
    "Workspace",
    "common_version",
    "dump",
    "kinds",
    "load",
    "load_as",
    "sized",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "contract.wire.callbacks": "AttendRequests AttendanceAsked AttendanceTold CallbackLeft "
        "CallbackMessage FunctionCalled FunctionProgressed FunctionReturned FunctionsLeft RequestAnswered "
        "RequestPut",
        "contract.wire.codec": "common_version dump kinds load load_as sized",
        "contract.wire.commands": "WireItem WireOverrides WireSend WireStart",
        "contract.wire.frames": "Feed Hello Poll Post Receipt",
        "contract.wire.ledger": "AskLedger BudgetsDeposited DepositBudgets LedgerAnswered RequestUsed "
        "UnsettledRequest UnsettledRun",
        "contract.wire.lenient": "UnknownEvent",
        "contract.wire.messages": "AnswerMessage AttachRun CallJudged CallWaits CancelRun "
        "Granted Refused RetryJudged RunMessage StartRun SteerRun ToolProgressed ToolReturned UnknownMessage "
        "WireImage WireMessage WireObject",
        "contract.wire.replies": "WireCommandRejected WireItemRejected WireStartReply",
        "contract.wire.reports": "AskLeft AskMessage CallAsked CaughtUp EventReported RequestAsked ResultReported "
        "RunReport RunUnknown SteerAnswered SteeringClosed SteeringOpened ThrottleReported ToolCalled",
        "contract.wire.run": "WireExchange WireRun WireSpec WireTool Workspace",
        "contract.wire.serving": "AskStatus AskingMessage CommandAnswered CommandShown EventTold ExecuteCommand "
        "LeaveCommand ObserveTasks OhmOpened OhmRefused OpenOhm ServerStatus TaskLeft TasksObserved",
        "contract.wire.versions": "NEWEST VERSIONS WireError",
    },
)
