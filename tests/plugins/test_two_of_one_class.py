import pytest

from ohm_subagents import Ohm
from ohm_subagents.plugin import PluginInvalidError
from ohm_subagents.testing import HERMETIC, ScriptedBackend

pytestmark = pytest.mark.anyio


async def test_two_backends_of_one_class_open_together():
    plugins = [ScriptedBackend(id="one"), ScriptedBackend("done", id="two")]
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "two"}, plugins=plugins) as ohm:
        assert (await ohm.run("finder", "p")).unwrap().output == "done"
        assert not ohm.diagnostics


async def test_one_object_twice_is_a_bug():
    backend = ScriptedBackend()
    with pytest.raises(PluginInvalidError, match="is registered already, as 'ScriptedBackend'"):
        async with Ohm.open(env=HERMETIC, config={}, plugins=[backend, backend]):
            pass
