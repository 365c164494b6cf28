"""Discovery against metadata on disk, as installers write it."""

import importlib.metadata
import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ohm_subagents._plugins.host.discovery import Blocked, Broken, Imported, all_allowed, discover
from ohm_subagents._plugins.host.host import PluginHost
from ohm_subagents.plugin import hookimpl

GOOD = """
from ohm_subagents.plugin import hookimpl

@hookimpl
def ohm_backends():
    return ()
"""
ODD = """
PLUGIN = 42

class Odd(type):
    def __dir__(cls):
        raise OSError

class CLASS(metaclass=Odd): ...
"""


class Site:
    """A directory on the path into which distributions are written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, distribution: str, entry_points: str, **modules: str) -> None:
        info = self.path / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[ohm_subagents]\n{entry_points}\n")
        for name, source in modules.items():
            (self.path / f"{name}.py").write_text(source)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return Site(tmp_path)


def only(*names: str) -> Callable[[str], bool]:
    return names.__contains__


def states(allows: Callable[[str], bool]) -> dict[str, str]:
    found = discover(allows).found
    return {one.installed.name: type(one).__name__ for one in found if one.installed.distribution.startswith("t-")}


def test_the_names_that_are_allowed_are_imported(site: Site) -> None:
    site.add("t-a", "a = t_a\nb = t_b\nc = t_c", t_a=GOOD, t_b=GOOD, t_c=GOOD)
    assert states(only("a", "b")) == {"a": "Imported", "b": "Imported", "c": "Blocked"}
    assert states(all_allowed) == {"a": "Imported", "b": "Imported", "c": "Imported"}


def test_a_blocked_module_is_not_imported(site: Site) -> None:
    site.add("t-a", "a = t_blocked", t_blocked="raise AssertionError('imported')")
    assert states(only()) == {"a": "Blocked"}
    assert "t_blocked" not in sys.modules


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("import nothing_like_this", "ModuleNotFoundError: No module named 'nothing_like_this'"),
        ("def", "SyntaxError: invalid syntax (t_bad.py, line 1)"),
        ("raise RuntimeError('two\\nlines.')", "RuntimeError: two lines"),
        ("raise ValueError", "ValueError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_whatever_an_import_raises_is_one_diagnostic(
    site: Site, source: str, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    site.add("t-a", "bad = t_bad\ngood = t_good", t_bad=source, t_good=GOOD)
    with caplog.at_level(logging.WARNING, "ohm_subagents"):
        bad, good = discover(only("bad", "good")).found[-2:]
    assert isinstance(good, Imported)
    assert isinstance(bad, Broken)
    assert str(bad.diagnostic) == (
        f"Plugin 'bad' of t-a 1.0 could not be imported: {error}. "
        "Repair it, or set OHM_SUBAGENTS_BLOCK_PLUGINS=bad to leave it out."
    )
    (record,) = caplog.records
    assert record.exc_info is not None


def test_an_attribute_that_is_not_there_is_one_diagnostic(site: Site) -> None:
    site.add("t-a", "bad = t_bad:Plugin", t_bad=GOOD)
    assert states(only("bad")) == {"bad": "Broken"}


def test_an_interrupted_import_is_not_a_plugin_failure(site: Site) -> None:
    site.add("t-a", "bad = t_bad", t_bad="raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        discover(only("bad"))


def test_a_name_of_two_distributions_goes_to_the_first_by_distribution_name(site: Site) -> None:
    site.add("t-z", "same = t_z", t_z="raise AssertionError('imported')")
    site.add("t-a", "same = t_a", t_a=GOOD)
    first, second = discover(only("same")).found[-2:]
    assert isinstance(first, Imported)
    assert first.installed.distribution == "t-a"
    assert isinstance(second, Broken)
    assert str(second.diagnostic) == "Plugin 'same' of t-z 1.0 uses a name that t-a has. Uninstall one of them."


def test_the_same_distribution_twice_on_the_path_counts_once(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nearer = Site(tmp_path / "nearer")
    nearer.path.mkdir()
    monkeypatch.syspath_prepend(nearer.path)
    site.add("t.a", "old = t_old", t_old=GOOD)
    nearer.add("t-a", "new = t_new", t_new=GOOD)
    assert states(all_allowed) == {"new": "Imported"}


def test_metadata_that_was_repaired_is_read_again(site: Site) -> None:
    site.add("t-a", "a = t_a", t_a=GOOD)
    entry_points = site.path / "t_a-1.0.dist-info" / "entry_points.txt"
    good = entry_points.read_bytes()
    entry_points.write_bytes(b"[ohm_subagents]\na = \xff")
    assert states(only()) == {}
    entry_points.write_bytes(good)
    assert states(only()) == {"a": "Blocked"}


def test_unreadable_metadata_of_a_stranger_costs_no_plugin(site: Site) -> None:
    site.add("t-a", "good = t_good", t_good=GOOD)
    site.add("t-b", "this is no entry point")
    discovery = discover(only("good"))
    assert [one.installed.name for one in discovery.found if isinstance(one, Imported)] == ["good"]
    (diagnostic,) = discovery.diagnostics
    assert diagnostic.message.startswith("The metadata of an installed distribution cannot be read: ")


def test_a_host_registers_what_is_found_and_lists_the_rest(site: Site) -> None:
    site.add(
        "t-a",
        "bad = t_bad\ngood = t_good\nleft = t_left\nodd = t_odd:PLUGIN\nodder = t_odd:CLASS",
        t_bad="import nothing_like_this",
        t_good=GOOD,
        t_left=GOOD,
        t_odd=ODD,
    )
    host = PluginHost()
    host.register_installed(only("bad", "good", "odd", "odder"))
    assert {info.name: info.state for info in host.plugins if info.distribution == "t-a"} == {
        "bad": "failed",
        "good": "loaded",
        "left": "blocked",
        "odd": "failed",
        "odder": "failed",
    }
    assert [diagnostic.subject for diagnostic in host.diagnostics] == ["bad", "odd", "odder"]
    assert str(host.diagnostics[1]).startswith("Plugin 'odd' of t-a 1.0 implements no hook. Hooks: ")
    assert str(host.diagnostics[2]).startswith("Plugin 'odder' of t-a 1.0 could not be registered: OSError. Repair it")


def test_an_installed_plugin_does_not_take_the_name_of_a_registered_one(site: Site) -> None:
    class Ours:
        @hookimpl
        def ohm_backends(self) -> tuple[()]:
            return ()

    site.add("t-a", "echo = t_echo", t_echo=GOOD)
    host = PluginHost()
    host.register(Ours(), "echo", origin="builtin")
    host.register_installed(only("echo"))
    assert [(info.origin, info.state) for info in host.plugins if info.name == "echo"] == [
        ("builtin", "loaded"),
        ("entry point", "failed"),
    ]
    assert str(host.diagnostics[0]) == (
        "Plugin 'echo' of t-a 1.0 uses a name that is taken. Taken: echo. Pass another name, or set its `__name__`. "
        "Repair it, or set OHM_SUBAGENTS_BLOCK_PLUGINS=echo to leave it out."
    )


def test_what_is_blocked_is_still_known(site: Site) -> None:
    site.add("t-a", "a = t_a", t_a=GOOD)
    (blocked,) = (one for one in discover(only()).found if one.installed.name == "a")
    assert isinstance(blocked, Blocked)
    assert (blocked.installed.distribution, blocked.installed.version) == ("t-a", "1.0")


class Counting:
    """Counts how often the installed distributions are looked for; has no hash, and no two are unequal."""

    scans = 0
    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counting)

    def find_spec(self, _name: str, _path: object = None, _target: object = None) -> None:
        return None

    def find_distributions(self, _context: object = None) -> tuple[()]:
        self.scans += 1
        return ()


def test_an_import_path_that_has_not_changed_is_scanned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    others, finder, another = sys.meta_path, Counting(), Counting()
    monkeypatch.setattr(sys, "meta_path", [*others, finder])
    discover()
    discover(only())
    assert finder.scans == 1
    monkeypatch.setattr(sys, "meta_path", [*others, another])
    discover()
    assert another.scans == 1


def test_a_distribution_that_is_installed_while_the_program_runs_is_found(site: Site) -> None:
    site.add("t-a", "a = t_a", t_a=GOOD)
    assert states(only()) == {"a": "Blocked"}
    site.add("t-b", "b = t_b", t_b=GOOD)
    assert states(only()) == {"a": "Blocked", "b": "Blocked"}


def test_our_own_plugins_come_first_and_only_the_block_list_leaves_one_out(site: Site) -> None:
    site.add("t-a", "echo = t_none\nother = t_other", t_none=GOOD, t_other=GOOD)
    host = PluginHost()
    host.register_own(lambda name: name != "local-search")
    host.register_installed(only("other", "echo"))
    mine = {info.name: info.state for info in host.plugins if info.distribution == "ohm-subagents"}
    assert {name: mine[name] for name in ("interactive-sdk", "interactive-shell", "local-search", "echo")} == {
        "interactive-sdk": "loaded",
        "interactive-shell": "loaded",
        "local-search": "blocked",
        "echo": "loaded",
    }
    assert {info.name: info.state for info in host.plugins if info.distribution == "t-a"} == {
        "echo": "failed",
        "other": "loaded",
    }
    assert "local" not in host.models()


def test_an_installation_without_its_metadata_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "distributions", lambda **_context: iter(()))
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Counting()])
    host = PluginHost()
    host.register_own()
    assert [str(diagnostic) for diagnostic in host.diagnostics] == [
        "The installed metadata of ohm-subagents names none of its own plugins, so there is no backend and no tool. "
        "Install it again, in a clone with `uv sync --all-packages`; a frozen program has to copy its metadata."
    ]
