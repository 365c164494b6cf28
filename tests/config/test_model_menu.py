"""The menu of models: names for models, what is wrong with one, and what a project may do with it."""

from pathlib import Path

import pytest

from ohm_subagents._config.load import load_config
from ohm_subagents._config.trust import trust_nothing
from ohm_subagents._config.values import ModelName, UnclearModel


def given(**subagents):
    return load_config(cwd=Path("/nowhere"), config={"subagents": subagents}, env={}).ok_value


def menu(loaded):
    return {name: [str(one) for one in models] for name, models in loaded.config.subagents.menu.items()}


def told(loaded):
    return [str(one) for one in loaded.diagnostics]


def test_a_name_stands_for_a_model_and_for_those_that_are_asked_when_it_fails():
    fast = {"model": "acme/small", "thinking": "low", "fallback": ["deep", "other/spare:high"]}
    loaded = given(models={"fast": fast, "deep": "acme/big"})
    assert menu(loaded) == {"fast": ["acme/small:low", "acme/big", "other/spare:high"], "deep": ["acme/big"]}
    assert loaded.diagnostics == ()


def test_each_model_of_a_cycle_is_asked_once_and_the_cycle_is_told(home):
    home.write(
        user='{"subagents": {"models": {\n"a": {"model": "x/a", "fallback": ["b"]},\n'
        '"b": {"model": "x/b", "fallback": ["c"]},\n"c": {"model": "x/c", "fallback": ["a", "c"]}}}}'
    )
    loaded = home.load()
    assert menu(loaded) == {"a": ["x/a", "x/b", "x/c"], "b": ["x/b", "x/c", "x/a"], "c": ["x/c", "x/a", "x/b"]}
    place = f"{home.user}/ohm.json"
    assert [one.partition(": ")[2] for one in told(loaded)] == [
        "'subagents.models.a.fallback' names 'b', which leads back to 'a'; each model is asked once.",
        "'subagents.models.b.fallback' names 'c', which leads back to 'b'; each model is asked once.",
        "'subagents.models.c.fallback' names 'a', which leads back to 'c'; each model is asked once.",
        "'subagents.models.c.fallback' names 'c', which leads back to 'c'; each model is asked once.",
    ]
    assert [one.line for one in loaded.diagnostics] == [2, 3, 4, 4]
    assert {one.source for one in loaded.diagnostics} == {place}


def test_an_unknown_name_in_a_fallback_is_told_with_its_place_and_the_one_that_was_meant(home):
    home.write(
        user='{"subagents": {"models": {\n"fast": {"model": "x/a",\n"fallback": ["deeep", "!"]}, "deep": "x/b"}}}'
    )
    loaded = home.load()
    assert menu(loaded)["fast"] == ["x/a"]
    assert told(loaded)[0] == (
        f"{home.user}/ohm.json:3:1: 'subagents.models.fast.fallback' names 'deeep', which is no name of "
        "subagents.models and no model; it is not asked. Did you mean 'deep'?"
    )
    assert "A model is written as '<provider>/<model>'" in told(loaded)[1]


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ({"fast": {"model": "big"}, "big": "x/a"}, '\'subagents.models.fast\' is {"model": "big"}, but has to be '),
        ({"fast": "big"}, "'subagents.models.fast' is 'big', but has to be '<provider>/<model>'"),
        ({"fast": {"model": "x/a", "fallbacks": []}}, "'subagents.models.fast.fallbacks' is not a known key"),
        ({"fast": {"thinking": "low"}}, "'subagents.models.fast' lacks 'model'"),
        ({"fast": {"model": "x/a", "thinking": "lots"}}, "'subagents.models.fast.thinking' is 'lots'"),
        ({"inherit": "x/a"}, "'subagents.models.inherit' is 'inherit', but has to be a name of letters"),
        ({"a/b": "x/a"}, "'subagents.models.a/b' is 'a/b', but has to be a name of letters"),
    ],
)
def test_what_is_wrong_with_a_menu_is_told(models, said):
    (first, *_) = told(given(models=models))
    assert first.startswith(f"config: {said}")


def test_a_name_stands_where_a_model_may():
    subagents = given(models={"fast": "x/a"}, model="inherit", finder={"model": "fast"}).config.subagents
    assert (subagents.model, subagents.entry("finder").model) == (ModelName("inherit"), ModelName("fast"))


def test_the_environment_may_give_a_name():
    loaded = load_config(
        cwd=Path("/nowhere"), config={"subagents": {"models": {"fast": "x/a"}}}, env={"OHM_MODEL": "fast"}
    )
    assert loaded.ok_value.config.subagents.model == ModelName("fast")


def test_a_name_that_is_not_in_the_menu_keeps_the_subagent_from_running():
    loaded = given(models={"fast": "x/a"}, finder={"model": "fsat"})
    model = loaded.config.subagents.entry("finder").model
    assert isinstance(model, UnclearModel)
    assert (
        "or one of fast, inherit; it keeps the subagent from running until corrected. Did you mean 'fast'?" in model.why
    )


def test_only_a_trusted_project_has_models_of_its_own(home):
    models = '{"fast": "evil/model", "mine": {"model": "evil/model"}}'
    project = f'{{"subagents": {{"models": {models}, "finder": {{"model": "mine"}}}}}}'
    home.write(user='{"subagents": {"models": {"fast": "x/a"}}}', project=project)
    loaded = home.load(trusts=trust_nothing)
    assert menu(loaded) == {"fast": ["x/a"]}
    assert [one.subject for one in loaded.diagnostics] == ["subagents.models", "subagents.finder.model"]
    assert loaded.config.subagents.entry("finder").model is None
    trusted = home.load()
    assert menu(trusted) == {"fast": ["evil/model"], "mine": ["evil/model"]}


def test_an_untrusted_project_only_leaves_failures_out(home):
    home.write(project='{"subagents": {"modelFallback": {"on": ["quota"], "coolDownMs": 999999999}}}')
    fallback = home.load(trusts=trust_nothing).config.subagents.model_fallback
    assert (fallback.on, fallback.cool_down_ms) == (("quota",), 60_000)
