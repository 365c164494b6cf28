from __future__ import annotations


def section(text: str, name: str) -> list[str]:
    return text.partition(f"{name}:\n")[2].partition("\n\n")[0].splitlines()


MENU = {
    "fast": {"model": "openai/gpt-5-mini", "fallback": ["deep", "opnai/x"]},
    "deep": "groq/big",
    "free": "local/search",
}


def test_the_menu_is_listed_with_what_each_model_lacks_and_the_defaults(ohm) -> None:
    ohm.env["OPENAI_API_KEY"] = "sk-not-to-be-shown"
    ohm.configure({"subagents": {"models": MENU}})
    done = ohm("models")
    lines = section(done.stdout, "Names of models")
    assert lines == [
        "  ✓ fast: openai/gpt-5-mini, then groq/big (needs GROQ_API_KEY), then opnai/x (no plugin offers its provider; "
        "did you mean 'openai'?)",
        "  ○ deep: groq/big (needs GROQ_API_KEY)",
        "  ✓ free: local/search",
    ]
    assert section(done.stdout, "Default models, first match wins")
    assert section(ohm("doctor").stdout, "Names of models") == lines


def test_without_a_menu_it_is_said_how_to_make_one(ohm) -> None:
    assert "  ○ none: give subagents.models in ohm.json" in ohm("models").stdout
    assert "Names of models" not in ohm("doctor").stdout


def test_a_run_takes_a_name(ohm) -> None:
    ohm.configure({"subagentBackend": "none", "subagents": {"models": MENU}})
    done = ohm("run", "finder", "x", "--model", "fsat")
    assert done.returncode != 0
    assert "Did you mean 'fast'?" in done.stderr
