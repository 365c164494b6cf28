"""Backends that ohm.json makes of a plugin's type."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from ohm_subagents import Ohm
from ohm_subagents.plugin import BackendSpec, BackendType, Ok, Options, RunOutput, hookimpl
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio


class ServerOptions(Options):
    host: str = "here"


@dataclass(frozen=True)
class Opening:
    id: str
    opened: list = field(compare=False)

    @asynccontextmanager
    async def __call__(self, options):
        self.opened.append(self.id)
        yield _Server(f"{self.id} at {options.host}")


class _Server:
    def __init__(self, text):
        self.text = text

    async def run(self, _request, _sink):
        return Ok(RunOutput(text=self.text))


class Servers:
    """Offers the type `server`, and a backend `fixed` of its own; knows which were opened, in order."""

    def __init__(self):
        self.opened = []

    @hookimpl
    def ohm_backends(self):
        return [self.instance("fixed")]

    @hookimpl
    def ohm_backend_types(self):
        return [BackendType(id="server", summary="A server.", instance=self.instance)]

    def instance(self, backend_id):
        if backend_id == "refused":
            raise ValueError("no server is called so")
        return BackendSpec(id=backend_id, summary="", options=ServerOptions, open=Opening(backend_id, self.opened))


def config(**backends):
    return {"subagents": {"backends": backends}}


async def answer(ohm, backend):
    return (await ohm.run("finder", "p", backend=backend)).ok_value.output


async def test_each_instance_answers_by_its_own_options():
    written = config(east={"type": "server", "host": "one"}, west={"type": "server"})
    async with Ohm.open(env=HERMETIC, plugins=[Servers()], config=written) as ohm:
        assert await answer(ohm, "east") == "east at one"
        assert await answer(ohm, "west") == "west at here"
        backends = ohm.inspect().backends
        assert [name for name, spec in backends.items() if spec.backend_type == "server"] == ["east", "west"]
        assert ohm.diagnostics == ()


async def test_an_instance_stays_open_while_its_options_do_not_change():
    plugin = Servers()
    async with Ohm.open(env=HERMETIC, plugins=[plugin], config=config(east={"type": "server"})) as ohm:
        await answer(ohm, "east")
        await ohm.reconfigure(config=config(east={"type": "server"}, west={"type": "server"}))
        await answer(ohm, "east")
        assert plugin.opened == ["east"]
        await ohm.reconfigure(config=config(east={"type": "server", "host": "two"}))
        assert await answer(ohm, "east") == "east at two"
        assert plugin.opened == ["east", "east"]


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"hots": "one"}, "'subagents.backends.east.hots' is not an option of backend 'east'. Did you mean 'host'?"),
        ({"host": 1}, "'subagents.backends.east.host' must be a string."),
    ],
)
async def test_options_are_validated_by_the_model_of_the_type(options, fact):
    async with Ohm.open(env=HERMETIC, plugins=[Servers()], config=config(east={"type": "server", **options})) as ohm:
        error = (await ohm.run("finder", "p", backend="east")).err_value
        assert (error.code, error.message) == ("backend_options_invalid", fact)


async def test_an_unknown_type_makes_no_backend_and_is_a_diagnostic():
    async with Ohm.open(env=HERMETIC, plugins=[Servers()], config=config(east={"type": "sever"})) as ohm:
        (told,) = map(str, ohm.diagnostics)
        assert "no plugin offers the backend type 'sever', so the options of 'east' have no effect." in told
        assert "Did you mean 'server'? Available: server." in told
        assert (await ohm.run("finder", "p", backend="east")).err_value.code == "unsupported_subagent_backend"


async def test_an_id_of_a_plugin_stays_a_backend_of_that_plugin():
    async with Ohm.open(env=HERMETIC, plugins=[Servers()], config=config(fixed={"type": "server"})) as ohm:
        error = (await ohm.run("finder", "p", backend="fixed")).err_value
        assert error.message == (
            "'subagents.backends.fixed.type' has no effect: a plugin offers the backend 'fixed' itself. "
            "Give yours another id."
        )


async def test_a_plugin_that_cannot_make_an_instance_costs_that_instance_alone():
    written = config(refused={"type": "server"}, east={"type": "server"})
    async with Ohm.open(env=HERMETIC, plugins=[Servers()], config=written) as ohm:
        assert await answer(ohm, "east") == "east at here"
        assert [str(one) for one in ohm.diagnostics if one.subject == "Servers"] == [
            "Plugin 'Servers' made no backend 'refused' of its type 'server': "
            "it raised ValueError: no server is called so."
        ]


async def test_a_project_makes_no_backend(tmp_path):
    project = tmp_path / "work"
    (project / ".pi").mkdir(parents=True)
    (project / ".pi" / "ohm.json").write_text('{"subagents": {"backends": {"east": {"type": "server"}}}}')
    env = {**HERMETIC, "PI_CONFIG_DIR": str(tmp_path)}
    async with Ohm.open(cwd=project, env=env, plugins=[Servers()]) as ohm:
        assert "east" not in ohm.inspect().backends
        assert any("'subagents.backends' cannot be set by a project" in str(one) for one in ohm.diagnostics)
