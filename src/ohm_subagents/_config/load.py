"""defaults ← user file ← project file ← environment, as one frozen value (house 9.10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.accept import accepted
from ohm_subagents._config.budgets import read_budgets
from ohm_subagents._config.entries import SHOWN_BY, unified
from ohm_subagents._config.env import config_dir, environment
from ohm_subagents._config.fold import Folded
from ohm_subagents._config.layers import Layer, leaves, read_file, read_mapping
from ohm_subagents._config.models import unclear_models
from ohm_subagents._config.permissions import Permissions, Rules, merge
from ohm_subagents._config.plugin_lists import understood
from ohm_subagents._config.regular_file import is_one_place
from ohm_subagents._config.reserved import without_effect
from ohm_subagents._config.rules import PATH, overruled, read_rules, without_rules
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.switches import switched
from ohm_subagents._config.tool_rules import KEY, merge_tools, not_granted, read_tools, without_tools
from ohm_subagents._config.trust import nothing
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.trust import Covers
    from ohm_subagents.contract.diagnostics import Diagnostic

FILE_NAME: Final = "ohm.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """The configuration in force, what was wrong on the way, and where each value that is not a default comes from."""

    config: OhmConfig
    diagnostics: tuple[Diagnostic, ...]
    loaded_from: tuple[str, ...]
    origins: Mapping[str, str]

    def origin(self, key: str) -> str:
        """`file:line`, `env NAME`, `config` or `default` of a dotted key, or of the short form that it was given in."""
        parts = key.split(".")
        around = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
        return next((self.origins[one] for one in around if one in self.origins), "default")


def load_config(
    *, cwd: Path, config: Mapping[str, JsonValue] | Path | None, env: Mapping[str, str], trusts: Covers = nothing
) -> Result[LoadedConfig, OhmError]:
    """Read, check and merge the layers.

    `config=None` reads the user's and the project's ohm.json; a mapping or a path stands for both. Unless the user
    `trusts` what is in the project's, it only tightens. The environment is above all. Returns `task_config_load_failed`
    for a file that cannot be read whole, or a path that does not exist; a wrong value is a diagnostic, and the value
    below it stays.
    """
    read = _files(cwd, env, trusts) if config is None else _given(config)
    if isinstance(read, Err):
        return Err(read.err_value)
    files = read.ok_value
    rules = [read_rules(layer) for layer in files]
    tools = [read_tools(layer) for layer in files]
    budgets = [read_budgets(layer) for layer in files]
    tool_rules = merge_tools(one for one, _ in tools)
    permissions = merge(one for one, _ in rules)
    diagnostics: list[Diagnostic] = []
    for layer, (one, wrong) in zip(files, rules, strict=True):
        diagnostics += [*_repeated(layer), *wrong, *overruled(layer, one, permissions)]
    for layer, (given, wrong) in zip(files, tools, strict=True):
        diagnostics += [*wrong, *not_granted(layer, given, tool_rules)]
    diagnostics += [one for reading in budgets for one in reading.diagnostics]
    folded = Folded(schema=OhmConfig)
    variables, wrong_depth = environment(env)
    diagnostics += wrong_depth
    for raw in (*(without_rules(without_tools(reading.layer)) for reading in budgets), variables):
        checked, ignored = _checked(raw)
        folded, refused = folded.over(checked)
        diagnostics += [*ignored, *refused]
    source = Layer(kind="given", source="", values=folded.values, places=folded.places)
    values, lacking = accepted(OhmConfig, folded.values, source.place, complete=True)
    origins = {".".join(path): str(source.place(path)) for path in leaves(values)} | _rule_origins(permissions, rules)
    origins |= {f"subagents.profiles.{name}.{KEY}": rule.source for name, rule in tool_rules.items() if rule.source}
    loaded_from = tuple(layer.source for layer in files)
    unclear = {owner: why for reading in reversed(budgets) for owner, why in reading.unclear.items()}
    section = _as_object(values.get("subagents"))
    written = _as_object(section.get("profiles"))
    names = (*written, *sorted(tool_rules.keys() - written.keys()))
    entries = {name: {**_as_object(written.get(name)), KEY: tool_rules.get(name)} for name in names}
    read_apart = {**section, "permissions": permissions, "profiles": entries}
    complete = OhmConfig.model_validate({**values, "subagents": read_apart})
    subagents = complete.subagents.with_trust(folded.ceilings, unclear)
    return Ok(
        LoadedConfig(
            config=complete.model_copy(update={"subagents": subagents}),
            diagnostics=_in_reading_order((*diagnostics, *lacking), loaded_from),
            loaded_from=loaded_from,
            origins=origins,
        )
    )


def _files(cwd: Path, env: Mapping[str, str], trusts: Covers) -> Result[tuple[Layer, ...], OhmError]:
    user, project = config_dir(env) / FILE_NAME, cwd / ".pi" / FILE_NAME
    layers: list[Layer] = []
    for path, kind in ((user, "user"), (project, "project")):
        if kind == "project" and is_one_place(path, user):
            continue
        read = read_file(path, "user" if kind == "user" else "project", trusts=trusts)
        if isinstance(read, Err):
            return Err(read.err_value)
        if read.ok_value is not None:
            layers.append(read.ok_value)
    return Ok(tuple(layers))


def _given(config: Mapping[str, JsonValue] | Path) -> Result[tuple[Layer, ...], OhmError]:
    if not isinstance(config, Path):
        mapping = read_mapping(config)
        return mapping if isinstance(mapping, Err) else Ok((mapping.ok_value,))
    read = read_file(config, "given")
    if isinstance(read, Err):
        return Err(read.err_value)
    if read.ok_value is None:
        return Err(
            OhmError(
                code=ErrorCode.CONFIG_INVALID,
                message=f"The configuration file '{config}' does not exist.",
                advice="Correct the path, or leave it out to read the user's and the project's ohm.json.",
            )
        )
    return Ok((read.ok_value,))


def _checked(raw: Layer) -> tuple[Layer, list[Diagnostic]]:
    known, wrong_lists = understood(raw)
    clear, wrong_switches = switched(known)
    layer, wrong_entries = unified(clear)
    values, wrong_values = accepted(OhmConfig, layer.values, layer.place, complete=False, shown_by=SHOWN_BY)
    checked = replace(layer, values=values)
    return checked, [
        *wrong_lists,
        *wrong_switches,
        *wrong_entries,
        *unclear_models(layer),
        *wrong_values,
        *without_effect(checked, OhmConfig),
    ]


def _repeated(layer: Layer) -> Iterable[Diagnostic]:
    for path in layer.repeated:
        place = layer.place(path)
        yield place.diagnostic(
            f"'{place.key}' is given twice; objects are merged, of other values the last one counts."
        )


def _in_reading_order(found: tuple[Diagnostic, ...], sources: tuple[str, ...]) -> tuple[Diagnostic, ...]:
    def place(diagnostic: Diagnostic) -> tuple[int, int]:
        source = sources.index(diagnostic.source) if diagnostic.source in sources else len(sources)
        return source, diagnostic.line or 0

    return tuple(sorted(found, key=place))


def _rule_origins(permissions: Permissions, rules: Iterable[tuple[Rules, object]]) -> dict[str, str]:
    prefix = ".".join(PATH)
    origins = {f"{prefix}.subagents.{name}": rule.source for name, rule in permissions.subagents.items()}
    if any(one.default for one, _ in rules):
        origins[f"{prefix}.default"] = permissions.default.source
    if permissions.routing_source != "default":
        origins[f"{prefix}.allowInternalRouting"] = permissions.routing_source
    return origins


def _as_object(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}
