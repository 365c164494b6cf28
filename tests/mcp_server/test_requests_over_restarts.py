"""A call whose client was sent away with requests, and whose server was killed: the next server goes on with it."""

import json

import mcp_asking_process
import pytest
from asking_process import EditingModel, opened
from forking import forked
from mcp.shared.exceptions import MCPError
from mcp_asking_process import a_round, client_of
from mcp_types import CallToolResult, ElicitResult, InputRequiredResult

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """A process takes real time."""
    return "asyncio"


def decided(requests, decision):
    """The answers of a client to all requests of a round."""
    return {one: ElicitResult(action="accept", content={"decision": decision}) for one in requests}


async def test_the_next_server_goes_on_with_a_call_from_round_to_round(tmp_path):
    with forked(mcp_asking_process.__file__, tmp_path, "a,b") as process:
        first = InputRequiredResult.model_validate_json(process.stdout.readline())
        process.kill()
    async with opened(tmp_path, EditingModel(tmp_path)) as ohm, client_of(ohm) as client:
        again = await a_round(client, "a,b", request_state=first.request_state)
        assert again.input_requests.keys() == first.input_requests.keys()
        answers = decided(again.input_requests, "approve")
        second = await a_round(client, "a,b", request_state=first.request_state, input_responses=answers)
        answers = decided(second.input_requests, "deny")
        result = await a_round(client, "a,b", request_state=second.request_state, input_responses=answers)
        with pytest.raises(MCPError, match="no call 'call_none' that could go on"):
            await a_round(client, "a,b", request_state="call_none")
    assert second.request_state == first.request_state
    assert not {*first.input_requests} & {*second.input_requests}
    assert isinstance(result, CallToolResult)
    told = json.loads(result.meta["ohm/envelope"]["output"])
    assert told["a"] == "edited"
    assert "was denied" in told["b"]
    assert (tmp_path / "edited").read_text() == "a\n"
