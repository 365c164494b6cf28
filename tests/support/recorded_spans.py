"""A tracer provider for one test, whose spans stay in memory."""

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class RecordedSpans:
    """The finished spans, newest last. The global provider cannot be set twice, so this stands in for it."""

    def __init__(self, monkeypatch):
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)

    def all(self):
        return self._exporter.get_finished_spans()

    def named(self, name):
        return [span for span in self.all() if span.name == name]

    def one(self, name):
        (span,) = self.named(name)
        return span

    def as_json(self):
        return "".join(span.to_json() for span in self.all())


def events(span):
    """Each with its attributes."""
    return [(event.name, dict(event.attributes)) for event in span.events]


def is_inside(span, outer):
    return span.parent is not None and span.parent.span_id == outer.context.span_id
