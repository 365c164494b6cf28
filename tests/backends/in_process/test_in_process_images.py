"""Images that tools return: shown to a model that reads them, and kept nowhere."""

import base64
import json

import pytest
from model_server import Call, ModelServer, Say
from subagent_runs import EventLog, acme, answer, child_tool, opened, request

from ohm_subagents import Image, tool
from ohm_subagents.contract import Checkpointed, ToolEnded
from ohm_subagents.contract.services import CompatibleModel
from ohm_subagents.plugin import ToolCall, ToolResult

pytestmark = pytest.mark.anyio
DATA = b"\x89PNG" + b"p" * 3000
PICTURE = Image(data=DATA, media_type="image/png")
DRAW = child_tool("draw", ToolResult(text=f"Here: {PICTURE.label}", details={}, images=(PICTURE,)))


def model(supports_images):
    return CompatibleModel(id="m1", supports_images=supports_images)


async def ran(supports_images):
    log = EventLog()
    async with (
        ModelServer(Say(Call("draw")), Say("Seen."), Say("Again.")) as server,
        opened(acme(server, model(supports_images))) as backend,
    ):
        asked = request(child_tools=[DRAW])
        answer(await backend.run(asked, log))
        state = log.of(Checkpointed)[-1].state
        answer(await backend.run(request(child_tools=[DRAW], checkpoint=state), EventLog()))
    return log, state, [json.dumps(one.messages) for one in server.requests]


async def test_a_model_that_reads_images_gets_them():
    _, _, bodies = await ran(supports_images=True)

    assert f"data:image/png;base64,{base64.b64encode(DATA).decode()}" in bodies[1]
    assert "Here: [image/png, 3004 bytes, sha256 " in bodies[1]


async def test_another_gets_the_text_and_a_sentence():
    _, _, bodies = await ran(supports_images=False)

    assert "base64" not in bodies[1]
    assert "Here: [image/png, 3004 bytes, sha256 " in bodies[1]
    assert "this model cannot read images" in bodies[1]


async def test_events_and_the_kept_conversation_have_its_label_alone():
    log, state, bodies = await ran(supports_images=True)

    assert [one.text for one in log.of(ToolEnded)] == [f"Here: {PICTURE.label}"]
    assert base64.b64encode(DATA[4:40]).decode() not in state
    assert "Images are not kept: call the tool again to see one." in state
    assert "base64" not in bodies[2]


@pytest.mark.parametrize(
    ("data", "media_type", "fault"),
    [
        (b"<svg/>", "image/svg+xml", "An image has to be image/png, image/jpeg, image/gif, image/webp, not "),
        (
            b"x" * (Image.MAX_BYTES + 1),
            "image/png",
            "An image of 4194305 bytes has more than 4194304; make it smaller.",
        ),
    ],
)
def test_an_image_that_no_model_takes_is_a_value_error(data, media_type, fault):
    with pytest.raises(ValueError, match=fault):
        Image(data=data, media_type=media_type)


def test_a_result_has_ten_images_at_most():
    with pytest.raises(ValueError, match="11 images, more than 10"):
        ToolResult(text="", details={}, images=(PICTURE,) * 11)


async def test_a_function_may_return_an_image():
    @tool
    def draw() -> Image:
        """Draw."""
        return PICTURE

    result = await draw.execute(ToolCall(arguments={}))

    assert result.images == (PICTURE,)
    assert result.text == PICTURE.label
