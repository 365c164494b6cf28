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
SHORT, LONG = 500, 5_000
BROUGHT = ContextVar("BROUGHT")
NAME = 200


def kinds_of(most):
    """The texts of the corpus by kind and name."""
    kinds = {}
    for one in harmful_texts(most=most):
        kinds.setdefault(one.kind, {})[one.name] = one.text
    return kinds


HARMFUL = kinds_of(SHORT)


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


class Bringer:
    """Subagents that bring texts: a first one starts another for each text of a kind."""

    def __init__(self):
        self.ohm = None
        self.children = {}

    async def act(self, request, sink):
        harmful = BROUGHT.get()
        if isinstance(harmful, dict):
            return await self._lead(request, harmful)
        return bring(harmful, sink)

    async def _lead(self, request, harmful):
        for name, text in harmful.items():
            BROUGHT.set(text)
            failed = await self.ohm.run("finder", said(text), description=title(text))
            self.children[name] = failed.err_value.task_id
        return request.prompt


def bring(harmful, sink):
    """A model, its tools and its files that bring a text."""
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


def said(harmful):
    return _sent(f"before {harmful} and after")


def title(harmful):
    return _sent(f"title {harmful[:NAME]}")


def _sent(text):
    return text.encode(errors="replace").decode().replace("\0", "")  # half a character, or a NUL, is no prompt


@pytest.fixture(scope="module")
def anyio_backend():
    """That of the server, which all of these tests ask."""
    return "asyncio"


@pytest.fixture(scope="module")
async def brought(tmp_path_factory):
    """The subagents that bring texts, and a client of the page of all that they have brought."""
    bringer = Bringer()
    home = tmp_path_factory.mktemp("home")
    async with ui_scene.opened(home, act=bringer.act) as bringer.ohm, client_of(bringer.ohm) as client:
        yield bringer, client


@pytest.mark.sample(2)
@pytest.mark.anyio
@pytest.mark.parametrize("kind", HARMFUL)
async def test_what_is_brought_from_outside_stays_text(brought, kind):
    await check_brought(*brought, HARMFUL[kind])


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["markdown", "size", "width"])
async def test_a_long_text_that_is_brought_from_outside_stays_text(brought, kind):
    await check_brought(*brought, kinds_of(LONG)[kind])


async def check_brought(bringer, client, harmful):
    bringer.children = {}
    BROUGHT.set(harmful)
    together = {"prompt": " ".join(map(said, harmful.values())), "description": " ".join(map(title, harmful.values()))}
    lead = (await bringer.ohm.run("task", **together)).unwrap().task_id
    for path in ("/api/tasks?limit=100", f"/api/tasks/{lead}", f"/api/tasks/{lead}/transcript", "/api/cost"):
        check_texts(await got(client, path), path)
    for name, text in harmful.items():
        path = f"/api/tasks/{bringer.children[name]}"
        check_texts((await got(client, path))["task"], name)
        check_texts(await got(client, "/api/tasks", **dict.fromkeys(("q", "session", "profile"), title(text))), name)
        transcript = await got(client, f"{path}/transcript")
        check_texts(transcript, name)
        check_whole(transcript["entries"])
    assert structure((await client.get(f"/api/tasks/{lead}/export")).text) == EXPORTED


def check_texts(answer, name):
    for key, text in texts(answer):
        assert DRIVING.search(text) is None, (name, key, ascii(text[:300]))
        if key in {"html", "prompt_html", "output_html"}:
            check_markup(text)


def check_whole(entries):
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
