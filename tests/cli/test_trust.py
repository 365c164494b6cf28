"""`ohm trust`: a project gets what its files say for as long as they stay as they are."""

import json

import pytest

from ohm_subagents._config.regular_file import MAX_BYTES
from ohm_subagents._config.trust import TrustRecord, write_trust

EVIL = "---\nsummary: S.\ntools: [read, bash]\n---\nObey.\n"


@pytest.fixture
def helper(ohm):
    path = ohm.project / ".pi" / "subagents" / "helper.md"
    path.parent.mkdir(parents=True)
    path.write_text(EVIL)
    (ohm.project / ".pi" / "ohm.json").write_text('{"subagents": {"maxRunning": 7}, "suites": ["task", "sticky"]}')
    (ohm.project / "prompts").mkdir()
    (ohm.project / "prompts" / "p.md").write_text("---\nname: p\ndescription: D.\n---\nx\n")
    return path


def is_held(ohm, name="helper", *options):
    return "does not get the tool 'bash'" in ohm("subagent", name, *options).stderr


def test_a_project_is_trusted_for_as_long_as_its_files_stay_as_they_are(ohm, helper):
    assert is_held(ohm)
    assert "not trusted: its 3 files can only forbid and limit" in ohm("doctor").stdout
    done = ohm("trust", str(ohm.project))
    assert done.returncode == 0
    assert "does not get the tool 'bash'" in done.stdout
    assert ".pi/subagents/helper.md" in done.stdout
    assert not is_held(ohm)
    assert "the project is trusted, with 3 files" in ohm("doctor").stdout
    helper.write_text(EVIL + "More.\n")
    assert is_held(ohm)
    assert "'.pi/subagents/helper.md' is not as it was" in ohm("doctor").stdout
    helper.write_text(EVIL)
    assert not is_held(ohm)
    (ohm.project / "prompts" / "p.md").unlink()
    assert is_held(ohm)
    assert "○ the project is not trusted: its 2 files can only forbid and limit" in ohm("doctor").stdout


def test_a_dry_run_shows_what_trust_would_allow_and_trusts_nothing(ohm, helper):
    shown = ohm("trust", "--dry-run")
    assert is_held(ohm)
    assert ohm("trust", "--list").stdout == "No project is trusted.\n"
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.replace("Would be trusted: ", "Trusted: ") == ohm("trust").stdout
    refused = ohm("trust", "--dry-run", "--forget")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert not is_held(ohm)


def test_what_is_trusted_anew_is_what_is_there_now(ohm, helper):
    ohm("trust", str(ohm.project))
    (ohm.project / "prompts" / "p.md").unlink()
    ohm("trust", str(ohm.project))
    assert "the project is trusted, with 2 files" in ohm("doctor").stdout
    assert ohm("trust", "--list").stdout == f"{ohm.project} (2 files)\n"
    assert not is_held(ohm)


def test_a_file_that_is_new_is_not_trusted(ohm, helper):
    ohm("trust", str(ohm.project))
    (helper.parent / "other.md").write_text(EVIL)
    assert "'helper' of a project" not in ohm("subagent", "helper").stderr
    assert is_held(ohm, "other")
    assert "the project is not trusted" in ohm("doctor").stdout


def test_trust_is_listed_and_forgotten_and_is_of_one_place_alone(ohm, helper):
    assert ohm("trust", "--list").stdout == "No project is trusted.\n"
    ohm("trust", str(ohm.project))
    assert ohm("trust", "--list").stdout == f"{ohm.project} (3 files)\n"
    below = ohm.project / "below"
    below.mkdir()
    (below / ".pi").symlink_to(helper.parent.parent)
    assert is_held(ohm, "helper", "--cwd", str(below))
    assert ohm("trust", "--forget", str(ohm.project)).stdout == f"{ohm.project} is not trusted any more.\n"
    assert is_held(ohm)


def test_a_record_that_cannot_be_read_is_no_trust_and_is_told(ohm, helper):
    ohm("trust", str(ohm.project))
    (record,) = (ohm.root / "config" / "trusted-projects").iterdir()
    assert record.stat().st_mode & 0o077 == 0
    assert json.loads(record.read_text())["project"] == str(ohm.project)
    record.write_text("{")
    assert is_held(ohm)
    assert "its record cannot be read" in ohm("doctor").stdout


def test_where_nothing_is_there_is_nothing_to_trust(ohm):
    assert "Nothing to trust" in ohm("trust", str(ohm.project)).stdout
    assert "the project has no file for subagents" in ohm("doctor").stdout


@pytest.mark.slow
def test_agents_of_a_directory_above_are_trusted_with_it_and_nothing_else_is(ohm, helper):
    agents = ohm.project / ".pi" / "agents"
    agents.mkdir()
    (agents / "above.md").write_text("---\nname: above\ndescription: D.\ntools: read, bash\n---\nObey.\n")
    below = ohm.project / "below"
    (below / ".pi" / "subagents").mkdir(parents=True)
    (below / ".pi" / "subagents" / "helper.md").write_text(EVIL)

    def told():
        return ohm("doctor", "--cwd", str(below)).stdout

    ohm.configure({"suites": ["task", "single"]})
    assert "its 2 files can only forbid and limit" in told()
    assert "'above' of a project that is not trusted" in told()
    ohm("trust", str(ohm.project))
    assert "'above' of a project that is not trusted" not in told()
    assert is_held(ohm, "helper", "--cwd", str(below))
    done = ohm("trust", str(below)).stdout
    assert f"Trusted: {below}," in done
    assert f"Trusted: {ohm.project}," in done
    assert "the project is trusted, with 2 files" in told()
    assert not is_held(ohm)
    (agents / "above.md").write_text("---\nname: above\ndescription: D.\ntools: read\n---\nObey.\n")
    assert f"The project '{ohm.project}' is not trusted any more: '.pi/agents/above.md' is not as it was" in told()
    assert not is_held(ohm, "helper", "--cwd", str(below))
    assert is_held(ohm)


def test_what_is_allowed_is_shown_even_where_the_record_cannot_be_written(ohm, helper):
    (ohm.root / "config" / "trusted-projects").write_text("in the way")
    done = ohm("trust", str(ohm.project))
    assert done.returncode != 0
    assert "does not get the tool 'bash'" in done.stdout
    assert "Trusted:" not in done.stdout
    assert "cannot be written to" in done.stderr
    assert "None" not in done.stderr


def test_a_record_that_is_too_large_names_its_file(tmp_path):
    record = TrustRecord(project="/p", trusted_ms=1, files={"f" * MAX_BYTES: ""})
    with pytest.raises(OSError, match="too many files") as refused:
        write_trust(record, tmp_path)
    assert str(refused.value.filename).startswith(str(tmp_path))


def test_trust_that_has_lapsed_is_marked_in_the_list(ohm, helper):
    ohm("trust", str(ohm.project))
    helper.write_text(EVIL + "More.\n")
    told = ": not trusted any more, '.pi/subagents/helper.md' is not as it was\n"
    assert ohm("trust", "--list").stdout == f"{ohm.project} (3 files){told}"


def test_what_trust_allows_is_listed_as_often_as_doctor_counts_it_and_without_the_advice_to_trust(ohm, helper):
    ohm("trust")
    helper.write_text(EVIL + "More.\n")
    counted = ohm("doctor").stdout
    lapse, head, *lines, trusted, _, _, _ = ohm("trust").stdout.splitlines()
    assert lapse == "The project is not trusted any more: '.pi/subagents/helper.md' is not as it was."
    assert head == "What was refused before, and is allowed once the project is trusted:"
    assert f"its 3 files can only forbid and limit; {len(lines)} things there count for nothing; see" in counted
    assert len(lines) > 1
    assert [line for line in lines if "trust the project" in line] == []
    assert trusted.startswith("Trusted: ")


def test_one_file_is_counted_as_one(ohm):
    (ohm.project / ".pi").mkdir()
    (ohm.project / ".pi" / "ohm.json").write_text("{}")
    assert "the project is not trusted: its one file can only forbid and limit; see 'ohm trust" in ohm("doctor").stdout
    ohm("trust")
    assert ohm("trust", "--list").stdout == f"{ohm.project} (one file)\n"
