"""As much of strands-agents as its adapter uses: the package is not installed where types are checked."""

class EventLoopMetrics:
    def update_usage(self, usage: dict[str, int]) -> None: ...

class Agent:
    event_loop_metrics: EventLoopMetrics
