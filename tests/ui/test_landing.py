"""Landing and discarding from the page, over HTTP: offered while there is work, and shown at once."""

import pytest
from git_trees import repository
from kept_work import opened, worked
from ui_client import client_of, got, told

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """In real time, in which git runs."""
    return "asyncio"


@pytest.mark.parametrize("store", [pytest.param("memory", marks=pytest.mark.slow), "sqlite"])
async def test_work_is_landed_and_discarded_from_the_page_which_then_offers_it_no_more(tmp_path, store):
    parent = repository(tmp_path / "parent", a="one\n")
    async with opened(tmp_path, store) as ohm, client_of(ohm) as client:
        one, other = [await worked(ohm, parent, f"by task {n}") for n in (1, 2)]
        for task in (one, other):
            assert (await got(client, f"/api/tasks/{task}"))["task"]["can_land"]
        assert (await told(client, f"/api/tasks/{one}/land"))["message"] == "Its changes are in your files."
        assert (parent / "a").read_text() == "by task 1"
        refused = (await told(client, f"/api/tasks/{other}/land", code=409))["error"]
        assert (refused["code"], "a line 1: both have changed it" in refused["message"]) == ("landing_conflict", True)
        assert (await got(client, f"/api/tasks/{other}"))["task"]["can_land"]
        assert (await told(client, f"/api/tasks/{other}/discard"))["message"] == "Its changes are discarded."
        for task, became in ((one, ", clean"), (other, ", discarded")):
            assert not (await got(client, f"/api/tasks/{task}"))["task"]["can_land"]
            entries = (await got(client, f"/api/tasks/{task}/transcript"))["entries"]
            assert became in f"{entries[-1]}"
