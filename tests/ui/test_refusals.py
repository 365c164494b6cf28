"""Refusals of the server of `ohm ui`: of strangers, and of what is no request."""

import httpx
import pytest
import ui_scene
from ui_client import PATIENCE_S, TOKEN, served

from ohm_subagents.ui.guard import POLICY

pytestmark = pytest.mark.anyio


@pytest.fixture
async def browser(tmp_path):
    """A client without any token."""
    async with (
        ui_scene.opened(tmp_path) as ohm,
        served(ohm) as url,
        httpx.AsyncClient(base_url=url, timeout=PATIENCE_S, trust_env=False) as client,
    ):
        yield client


BEARER = {"authorization": f"Bearer {TOKEN}"}


async def test_the_address_with_the_token_leads_to_the_page_without_it(browser):
    entered = await browser.get("/tasks/task_1", params={"token": TOKEN, "view": "cost"})
    assert (entered.status_code, entered.headers["location"]) == (303, "/tasks/task_1?view=cost")
    cookie = entered.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert (await browser.get("/api/tasks")).status_code == 200  # with the cookie


async def test_one_who_follows_the_address_from_another_page_keeps_the_cookie(browser):
    entered = await browser.get("/", params={"token": TOKEN}, headers={"sec-fetch-site": "cross-site"})
    assert (entered.status_code, entered.headers["refresh"]) == (200, "0; url=/")


async def test_an_address_leads_to_no_other_host(browser):
    entered = await browser.get(f"{browser.base_url}//evil.example/", params={"token": TOKEN})
    assert entered.headers["location"] == "/evil.example/"


REFUSED = {
    "no token": ({}, 401, "The token is missing or wrong."),
    "wrong token": ({"authorization": "Bearer nothing"}, 401, "The token is missing or wrong."),
    "foreign page": (
        BEARER | {"origin": "https://evil.example"},
        403,
        "The origin 'https://evil.example' may not ask.",
    ),
    "opaque page": (BEARER | {"origin": "null"}, 403, "The origin 'null' may not ask."),
    "page of another port": (BEARER | {"origin": "http://127.0.0.1:1"}, 403, "The origin 'http://127.0.0.1:1' may not"),
    "foreign name": (BEARER | {"host": "evil.example:80"}, 421, "The host 'evil.example:80' is not this server."),
    "name of another port": (BEARER | {"host": "127.0.0.1:1"}, 421, "The host '127.0.0.1:1' is not this server."),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", REFUSED)
async def test_who_may_not_ask_is_told_in_one_sentence(browser, case):
    headers, status, sentence = REFUSED[case]
    for path in ("/api/tasks", "/api/stream", "/", "/page/main.js"):
        response = await browser.get(path, headers=headers)
        assert (path, response.status_code) == (path, status)
        said = response.json()["error"]["message"] if path.startswith("/api/") else response.text
        assert said.startswith(sentence)
    assert (await browser.post("/api/tasks/task_1/cancel", headers=headers, json={})).status_code == status


async def test_a_wrong_token_in_the_address_gives_no_cookie(browser):
    refused = await browser.get("/", params={"token": "nothing"})
    assert (refused.status_code, refused.headers.get("set-cookie")) == (401, None)
    assert (await browser.get("/api/tasks", params={"token": TOKEN})).status_code == 401  # addresses are logged


async def test_with_the_cookie_alone_only_our_page_changes_something(browser):
    await browser.get("/", params={"token": TOKEN})
    here = f"{browser.base_url}"
    assert (await browser.post("/api/tasks/task_1/cancel", json={})).status_code == 403
    assert (await browser.get("/api/tasks", headers={"sec-fetch-site": "same-site"})).status_code == 403
    ours = await browser.post("/api/tasks/task_1/cancel", json={}, headers={"origin": here})
    assert (ours.status_code, ours.json()["error"]["code"]) == (404, "unknown_task_id")


BODIES = {
    "a form": ({"content": b"prompt=x", "headers": {"content-type": "application/x-www-form-urlencoded"}}, 415),
    "no JSON": ({"content": b"{", "headers": {"content-type": "application/json"}}, 400),
    "no prompt": ({"json": {}}, 400),
    "a blank prompt": ({"json": {"prompt": " \n"}}, 400),
    "another key": ({"json": {"prompt": "x", "shell": "sh"}}, 400),
    "too long": ({"json": {"prompt": "x" * 2_000_000}}, 413),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", BODIES)
async def test_a_body_that_is_none_is_refused(browser, case):
    body, status = BODIES[case]
    headers = BEARER | body.get("headers", {})
    refused = await browser.post("/api/tasks/task_1/send", **{**body, "headers": headers})
    assert (refused.status_code, bool(refused.json()["error"]["message"])) == (status, True)


async def test_a_read_changes_nothing_and_a_change_is_no_read(browser):
    assert (await browser.get("/api/tasks/task_1/cancel", headers=BEARER)).status_code == 404
    assert (await browser.post("/api/tasks", headers=BEARER, json={})).status_code == 405


async def test_each_answer_forbids_what_is_not_ours(browser):
    for path, headers in (("/", {}), ("/api/tasks", BEARER), ("/api/odd", BEARER)):
        answer = await browser.get(path, headers=headers)
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"


async def test_the_work_of_no_task_is_not_landed(browser):
    for act in ("land", "discard"):
        refused = await browser.post(f"/api/tasks/task_9/{act}", headers=BEARER, json={})
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "unknown_task_id")
