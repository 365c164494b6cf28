"""`settings.json`: two files, the project's keys above, numbers within their ranges, whatever is written."""

import json
import os
import pty
import subprocess
import sys
import termios

import pytest

from ohm_subagents._config.trust import trust_everything
from ohm_subagents.suite import Place
from ohm_subagents.suites.delegate.settings import DelegateSettings, load_settings


@pytest.fixture
def load(tmp_path):
    def load(user=None, project=None, *, columns=None, trusts=trust_everything):
        for folder, content in ((tmp_path / "agent", user), (tmp_path / "cwd" / ".pi", project)):
            folder.mkdir(parents=True, exist_ok=True)
            if content is not None:
                text = content if isinstance(content, str) else json.dumps({"subagents": content})
                (folder / "settings.json").write_text(text, encoding="utf-8")
        place = {"agent_dir": tmp_path / "agent", "cwd": tmp_path / "cwd"}
        return load_settings(Place(**place, trusts=trusts), columns=columns)

    return load


def test_without_files_the_documented_defaults_hold(load):
    assert load() == (
        DelegateSettings(
            max_lines_per_window=15,
            command_preview_width=160,
            extend_timeout_debounce_s=30,
            looping_tool_count=5,
        ),
        (),
    )


def test_the_projects_key_wins_and_the_users_other_keys_stay(load):
    settings, diagnostics = load(
        {"maxLinesPerWindow": 25, "looping_tool_count": 3, "somebody": "elses"}, {"maxLinesPerWindow": 8}
    )
    assert (settings.max_lines_per_window, settings.looping_tool_count) == (8, 3)
    assert not diagnostics


@pytest.mark.parametrize(
    ("key", "field", "value", "held"),
    [
        ("maxLinesPerWindow", "max_lines_per_window", 0, 15),
        ("maxLinesPerWindow", "max_lines_per_window", -3, 15),
        ("maxLinesPerWindow", "max_lines_per_window", "8", 15),
        ("maxLinesPerWindow", "max_lines_per_window", True, 15),
        ("commandPreviewWidth", "command_preview_width", 5, 20),
        ("commandPreviewWidth", "command_preview_width", None, 160),
        ("extend_timeout_debounce", "extend_timeout_debounce_s", 999, 300),
        ("extend_timeout_debounce", "extend_timeout_debounce_s", -1, 0),
        ("extend_timeout_debounce", "extend_timeout_debounce_s", "soon", 30),
        ("looping_tool_count", "looping_tool_count", 51, 50),
        ("looping_tool_count", "looping_tool_count", -1, 0),
        ("looping_tool_count", "looping_tool_count", [5], 5),
    ],
)
def test_a_number_is_held_within_its_range_and_anything_else_is_the_default_and_named(load, key, field, value, held):
    settings, diagnostics = load({key: value})
    assert getattr(settings, field) == held
    assert len(diagnostics) == 1
    assert f"'subagents.{key}' is " in str(diagnostics[0])
    assert str(diagnostics[0]).endswith(f"it counts as {held}.")


@pytest.mark.parametrize(
    ("key", "field", "value"),
    [
        ("extend_timeout_debounce", "extend_timeout_debounce_s", 0),
        ("extend_timeout_debounce", "extend_timeout_debounce_s", 1.5),
        ("looping_tool_count", "looping_tool_count", 0),
        ("looping_tool_count", "looping_tool_count", 50),
    ],
)
def test_a_number_within_its_range_is_kept(load, key, field, value):
    settings, diagnostics = load({key: value})
    assert getattr(settings, field) == value
    assert not diagnostics


@pytest.mark.parametrize(("columns", "width"), [(100, 96), (10, 20)])
def test_a_terminal_stands_above_the_configured_width(load, columns, width):
    settings, _ = load({"commandPreviewWidth": 50}, columns=columns)
    assert settings.command_preview_width == width


def test_a_malformed_file_counts_as_empty_and_is_named(load, tmp_path):
    settings, diagnostics = load("{not json", {"looping_tool_count": 7})
    assert settings.looping_tool_count == 7
    assert len(diagnostics) == 1
    assert str(tmp_path / "agent" / "settings.json") in str(diagnostics[0])
    assert str(diagnostics[0]).endswith("at line 1, column 2. It counts as empty.")


def test_a_section_that_is_no_object_is_ignored_and_named(load):
    settings, diagnostics = load('{"subagents": 5}')
    assert settings == DelegateSettings()
    assert "'subagents' is 5, but has to be an object; it is ignored." in str(diagnostics[0])


def test_a_number_beyond_all_bounds_costs_nothing(load):
    settings, _ = load('{"subagents": {"maxLinesPerWindow": 1e999, "looping_tool_count": 1e999}}')
    assert settings.max_lines_per_window == 2**53 - 1
    assert settings.looping_tool_count == 50


@pytest.mark.slow
def test_the_width_is_asked_of_a_terminal_alone():
    asked = [
        sys.executable,
        "-c",
        "from ohm_subagents.suites.delegate.settings import terminal_columns; print(terminal_columns())",
    ]
    piped = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60)
    assert piped.stdout == "None\n"
    parent, child = pty.openpty()
    try:
        termios.tcsetwinsize(child, (24, 77))
        subprocess.run(asked, stdout=child, check=True, timeout=60)
        assert os.read(parent, 100).strip() == b"77"
    finally:
        os.close(parent)
        os.close(child)
