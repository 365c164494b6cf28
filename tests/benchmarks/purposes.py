"""The purposes of the processor time of a call: each moment belongs to the innermost frame whose file has a purpose.

Sampled, because a profiler that hears of every call makes small functions look large. Standard library only, as the
worker that uses it.
"""

import signal
from collections import Counter
from functools import cache

PURPOSES = {
    "pydantic_ai/_agent_graph.py": "pydantic-ai: the agent graph, its hooks and contexts",
    "pydantic_ai/models/": "pydantic-ai: the model request and its stream",
    "pydantic_ai/result.py": "pydantic-ai: the stream given to others",
    "pydantic_ai/": "pydantic-ai: the agent graph, its hooks and contexts",
    "pydantic_graph/": "pydantic-ai: the agent graph, its hooks and contexts",
    "tests/benchmarks/subjects/": "the fake model and the measurement",
    "tests/benchmarks/fake_model.py": "the fake model and the measurement",
    "ohm_subagents/_app/": "what a program calls",
    "ohm_subagents/_tools/": "arguments understood",
    "ohm_subagents/_tools/tool.py": "what a program calls",
    "ohm_subagents/_tools/updates.py": "progress frames",
    "ohm_subagents/_views/": "the envelope and its text",
    "ohm_subagents/contract/envelope.py": "the envelope and its text",
    "ohm_subagents/contract/truncation.py": "the envelope and its text",
    "ohm_subagents/_config/": "plan: profile, permissions, backend, model",
    "ohm_subagents/_profiles/": "plan: profile, permissions, backend, model",
    "ohm_subagents/_policy/": "plan: profile, permissions, backend, model",
    "ohm_subagents/_plugins/": "plan: profile, permissions, backend, model",
    "ohm_subagents/contract/profile.py": "plan: profile, permissions, backend, model",
    "ohm_subagents/contract/model_pattern.py": "plan: profile, permissions, backend, model",
    "ohm_subagents/_orchestrator/admission/plan.py": "plan: profile, permissions, backend, model",
    "ohm_subagents/_orchestrator/admission/context.py": "plan: profile, permissions, backend, model",
    "ohm_subagents/_orchestrator/admission/batch.py": "plan: profile, permissions, backend, model",
    "ohm_subagents/_orchestrator/": "commands, replies, and who waits for them",
    "ohm_subagents/_orchestrator/admission/new_tasks.py": "a task of its own, in its turn",
    "ohm_subagents/_orchestrator/run_queue.py": "a task of its own, in its turn",
    "ohm_subagents/_orchestrator/running.py": "a task of its own, in its turn",
    "ohm_subagents/_orchestrator/run/drive.py": "the run loop: scopes, prompt, request, outcome",
    "ohm_subagents/_orchestrator/queued_prompt.py": "the run loop: scopes, prompt, request, outcome",
    "ohm_subagents/_orchestrator/finalization.py": "the run loop: scopes, prompt, request, outcome",
    "ohm_subagents/_concurrency/": "the run loop: scopes, prompt, request, outcome",
    "ohm_subagents/_plugins/backends/pool.py": "the run loop: scopes, prompt, request, outcome",
    "ohm_subagents/_plugins/backends/interface.py": "the run loop: scopes, prompt, request, outcome",
    "ohm_subagents/_plugins/backends/request.py": "the run loop: scopes, prompt, request, outcome",
    "ohm_subagents/_orchestrator/observe/tracing.py": "the run loop: scopes, prompt, request, outcome",
    "ohm_subagents/_orchestrator/run/guard.py": "guards: four clocks, loops, budgets",
    "ohm_subagents/_orchestrator/run/deadlines.py": "guards: four clocks, loops, budgets",
    "ohm_subagents/_orchestrator/run/timers.py": "guards: four clocks, loops, budgets",
    "ohm_subagents/_orchestrator/run/loops.py": "guards: four clocks, loops, budgets",
    "ohm_subagents/_orchestrator/spending.py": "guards: four clocks, loops, budgets",
    "ohm_subagents/_orchestrator/run/budget_notices.py": "guards: four clocks, loops, budgets",
    "ohm_subagents/_orchestrator/ledger.py": "guards: four clocks, loops, budgets",
    "ohm_subagents/_orchestrator/call_context.py": "guards: four clocks, loops, budgets",
    "ohm_subagents/_orchestrator/run/gate.py": "gate: overload, budgets and last words before a model request",
    "ohm_subagents/_orchestrator/run/throttle.py": "gate: overload, budgets and last words before a model request",
    "ohm_subagents/_orchestrator/run/running_task.py": "the record: events applied, told to observers",
    "ohm_subagents/_orchestrator/run/inbox.py": "the record: events applied, told to observers",
    "ohm_subagents/_orchestrator/run/task_record.py": "the record: events applied, told to observers",
    "ohm_subagents/contract/activity.py": "the record: events applied, told to observers",
    "ohm_subagents/_orchestrator/observe/observers.py": "the record: events applied, told to observers",
    "ohm_subagents/contract/task.py": "the record: events applied, told to observers",
    "ohm_subagents/contract/events.py": "the record: events applied, told to observers",
    "ohm_subagents/stores/": "the store: kept, found again, forgotten in time",
    "ohm_subagents/_store/": "the store: kept, found again, forgotten in time",
    "ohm_subagents/backends/": "the backend: what it asks, hears and may be resumed from",
    "ohm_subagents/backends/in_process/gated_model.py": "the backend: the model heard as it speaks",
    "ohm_subagents/backends/in_process/bridge.py": "the backend: the model heard as it speaks",
}
"""Of paths of files, from the longest; a file of ours that is not named, and any other, is for what called it."""


LOOP = "the event loop turns, tasks begin and end"


@cache
def purpose(file):
    known = [part for part in PURPOSES if part in file]
    return PURPOSES[max(known, key=len)] if known else None


class Purposes:
    """Samples of the main thread by purpose, while it is entered: one for each millisecond or few of processor time."""

    def __init__(self):
        self.samples = Counter()

    def __enter__(self):
        self._former = signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
        return self

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, self._former)

    def _sample(self, _number, frame):
        found = None
        while frame is not None and found is None:
            found = purpose(frame.f_code.co_filename)
            frame = frame.f_back
        self.samples[found or LOOP] += 1
