"""Nothing in the corpus of harmful texts gets into the page or an exported file as anything but text."""

import json
from contextvars import ContextVar
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
import ui_scene
from harmful_texts import DRIVING, harmful_texts
from ui_client import client_of, got

from ohm_subagents.contract import (
    Diagnostic,
    DiagnosticRaised,
    Err,
    FileChanged,
    OhmError,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
)
from ohm_subagents.ui.files import page_files

TAGS = {"p", "pre", "code", "span", "strong", "em", "s", "del", "a", "ul", "ol", "li", "blockquote", "hr", "br"}
TAGS |= {"h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"class", "href", "rel", "target", "title", "start"}
FORMS = (
    "{}",
    "# {}",
    "- {}",
    "`{}`",
    "[{}]({})",
    "![{}]({})",
    "```html\n{}\n```",
    "```{}\nx\n```",
    "| a |\n|:--|\n| {} |",
)
HARMFUL = {}
for one in harmful_texts(most=5_000):
    HARMFUL.setdefault(one.kind, {})[one.name] = one.text
BROUGHT = ContextVar("BROUGHT")
NAME = 200


class Elements(HTMLParser):
    """The elements of a piece of markup, with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.comments = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_comment(self, data):
        self.comments.append(data)


def texts(value):
    """Every text in a JSON value, with its key."""
    match value:
        case dict():
            for key, one in value.items():
                yield from ((key, one),) if isinstance(one, str) else texts(one)
        case list():
            for one in value:
                yield from ((None, one),) if isinstance(one, str) else texts(one)


def check_markup(html):
    elements = Elements(html)
    assert elements.comments == []
    for tag, attributes in elements.found:
        assert tag in TAGS, html[:500]
        assert set(attributes) <= ATTRIBUTES, (tag, attributes)
        if "href" in attributes:
            assert urlsplit(attributes["href"]).scheme in {"http", "https", "mailto"}
            assert "noopener" in attributes["rel"]


async def act(_request, sink):
    """A model, its tools and its files that bring a text."""
    harmful = BROUGHT.get()
    name = f"name {harmful[:NAME]}"
    sink.emit(ThinkingDelta(text=f"before {harmful} and after"))
    for number, arguments in enumerate(({"command": harmful}, {"path": name}, {name: harmful})):
        sink.emit(ToolStarted(call_id=f"{number}", tool=f"bash {name}", args=json.dumps(arguments)))
        sink.emit(ToolUpdated(call_id=f"{number}", tool=f"bash {name}", text=harmful))
        sink.emit(ToolEnded(call_id=f"{number}", tool=f"bash {name}", status="success", text=f"b {harmful} and after"))
    edit = {"path": name, "oldText": "a", "newText": harmful}
    sink.emit(ToolStarted(call_id="e", tool="edit", args=json.dumps(edit)))
    sink.emit(FileChanged(path=name))
    sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject=name, message=harmful, advice=harmful)))
    for form in FORMS:
        sink.emit(TextDelta(text=form.replace("{}", f"before {harmful} and after") + "\n\n"))
    return Err(OhmError(code="task_backend_execution_failed", message=f"{harmful} and after", advice=harmful))


@pytest.mark.anyio
@pytest.mark.parametrize("kind", HARMFUL)
async def test_what_is_brought_from_outside_stays_text(tmp_path, kind):
    async with ui_scene.opened(tmp_path, act=act) as ohm, client_of(ohm) as client:
        for name, harmful in HARMFUL[kind].items():
            BROUGHT.set(harmful)
            said = f"before {harmful} and after".encode(errors="replace").decode()  # half a character is no prompt
            title = f"title {harmful[:NAME]}".encode(errors="replace").decode()
            failed = await ohm.run("finder", said, description=title)
            path = f"/api/tasks/{failed.err_value.task_id}"
            found = [await got(client, each) for each in ("/api/tasks", path, f"{path}/transcript", "/api/cost")]
            found.append(await got(client, "/api/tasks", q=title, session=title, profile=title))
            for key, text in texts(found):
                assert DRIVING.search(text) is None, (name, key, ascii(text[:300]))
                if key in {"html", "prompt_html", "output_html"}:
                    check_markup(text)
            check_whole(found[2]["entries"], harmful)
            exported = structure((await client.get(f"{path}/export")).text)
            assert exported == EXPORTED, name


def check_whole(entries, harmful):
    """Nothing beside it is lost."""
    for kind in ("prompt", "answer", "thinking"):
        (entry,) = [each for each in entries if each["kind"] == kind]
        assert "after" in (entry["html"] or entry["text"])
    assert sum(each["kind"] == "tool" for each in entries) == 4


def structure(page):
    """The elements of a page, in their order."""
    assert DRIVING.search(page) is None
    return [tag for tag, _ in Elements(page).found]


OWN = structure(page_files()["index.html"].replace('<link rel="stylesheet"', "<style></style><x"))
EXPORTED = [*OWN[:2], "meta", *(tag for tag in OWN[2:] if tag != "x")]
EXPORTED.insert(EXPORTED.index("script"), "script")
