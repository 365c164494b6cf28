"""The configuration in force: defaults, the user's file, the project's file, the environment, each over the last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents._config.accept import keep_valid
from ohm_subagents._config.entries import SECTION
from ohm_subagents._config.env import config_dir, environment
from ohm_subagents._config.fold import Folded
from ohm_subagents._config.layers import Layer, leaves, object_at, read_mapping, read_settings, value_at, with_value
from ohm_subagents._config.model_menu import MENU, menu_faults, menu_names
from ohm_subagents._config.permissions import Permissions, merge
from ohm_subagents._config.reading import Reading, named_models, unclear_models
from ohm_subagents._config.reading import read as read_layer
from ohm_subagents._config.regular_file import is_one_place
from ohm_subagents._config.rules import PATH, overruled
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.tool_lists import KEY, not_granted
from ohm_subagents._config.tool_rules import ToolRules, merge_tools
from ohm_subagents._config.trust import trust_nothing
from ohm_subagents._config.values import UnclearModel
from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue

    from ohm_subagents._config.trust import Covers

CONFIG_FILE: Final = "ohm.json"
DEFAULT: Final = "default"
"""The origin of a value that nobody set."""
NO_BACKGROUND: Final = (
    "'subagents.backgroundAfterMs' counts for nothing: calls of a model go on in the background only where"
    " 'subagents.asyncStart' is 'allow'."
)
"""The diagnostic on a time without the permission."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """The configuration in force, and where it comes from."""

    config: OhmConfig
    """The values in force."""
    diagnostics: tuple[Diagnostic, ...]
    """The faults of what was read, in reading order."""
    loaded_from: tuple[str, ...]
    """The files that were read, the user's first."""
    origins: Mapping[str, str]
    """The place of each value that is no default, by its dotted key."""
    empty: frozenset[str]
    """The keys of objects that set nothing, so that what belongs in them is a default."""

    def origin(self, key: str) -> str:
        """Return `file:line`, `env NAME`, `config` or `default` for a dotted key, as for `outputMaxChars`."""
        if key in self.origins:
            return self.origins[key]
        parts = key.split(".")
        around = (".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1))
        return next((self.origins[one] for one in around if one in self.origins and one not in self.empty), DEFAULT)

    def place(self, key: str) -> str:
        """Return where a key is written, an object by its first member; `ohm.json` where that is not known."""
        written = next((at for name, at in self.origins.items() if name.startswith(f"{key}.")), self.origin(key))
        return "ohm.json" if written == DEFAULT else written


def load_config(
    *, cwd: Path, config: Mapping[str, JsonValue] | Path | None, env: Mapping[str, str], trusts: Covers = trust_nothing
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
    menu = frozenset(name for layer in read.ok_value for name in menu_names(layer))
    readings = tuple(read_layer(layer, menu) for layer in read.ok_value)
    tool_rules = merge_tools(one.tools for one in readings)
    permissions = merge(one.rules for one in readings)
    variables, wrong_depth = environment(env)
    diagnostics: list[Diagnostic] = [*wrong_depth]
    folded = Folded(schema=OhmConfig)
    above = (read_layer(variables, menu),) if variables.values else ()
    for one in (*readings, *above):
        folded, refused = folded.over(one.checked)
        void = (*overruled(one.source, one.rules, permissions), *not_granted(one.source, one.tools, tool_rules))
        diagnostics += [*one.diagnostics, *void, *refused]
    source = Layer(kind="given", source="", values=folded.values, places=folded.places)
    values, lacking = keep_valid(OhmConfig, folded.values, source.place, complete=True)
    origins = {".".join(path): str(source.place(path)) for path in leaves(values)}
    empty = {".".join(path): str(place) for path, place in source.places.items() if value_at(values, path) == {}}
    origins |= {**empty, **_rule_origins(permissions, readings)}
    origins |= {f"subagents.profiles.{name}.{KEY}": rule.source for name, rule in tool_rules.items() if rule.source}
    loaded_from = tuple(one.source.source for one in readings)
    return Ok(
        LoadedConfig(
            config=_config(replace(source, values=values), folded, readings, permissions, tool_rules),
            diagnostics=_in_reading_order(
                (*diagnostics, *lacking, *menu_faults(source), *_unheeded(source)), loaded_from
            ),
            loaded_from=loaded_from,
            origins=origins,
            empty=frozenset(empty),
        )
    )


def _unheeded(layer: Layer) -> Iterator[Diagnostic]:
    """Name a value that counts for nothing beside the others."""
    section = object_at(layer.values, (SECTION,))
    if section.get("backgroundAfterMs") is not None and section.get("asyncStart") != "allow":
        yield layer.place((SECTION, "backgroundAfterMs")).diagnostic(NO_BACKGROUND)


def _config(
    source: Layer,
    folded: Folded,
    readings: tuple[Reading, ...],
    permissions: Permissions,
    tool_rules: Mapping[str, ToolRules],
) -> OhmConfig:
    values = source.values
    menu = object_at(values, MENU)
    for path, name in named_models(source, menu).items():
        values = with_value(values, path, cast("JsonValue", name))
    for path, fault in unclear_models(source, menu).items():
        unclear = UnclearModel(written=str(value_at(values, path)), why=str(fault))
        values = with_value(values, path, cast("JsonValue", unclear))
    section, written = object_at(values, (SECTION,)), object_at(values, (SECTION, "profiles"))
    names = (*written, *sorted(tool_rules.keys() - written.keys()))
    entries = {name: {**object_at(written, (name,)), KEY: tool_rules.get(name)} for name in names}
    config = OhmConfig.model_validate({**values, SECTION: {**section, "permissions": permissions, "profiles": entries}})
    budgets = {owner: why for one in reversed(readings) for owner, why in one.unclear.items()}
    return config.model_copy(update={SECTION: config.subagents.with_trust(folded.ceilings, budgets)})


def _files(cwd: Path, env: Mapping[str, str], trusts: Covers) -> Result[tuple[Layer, ...], OhmError]:
    user, project = config_dir(env) / CONFIG_FILE, cwd / ".pi" / CONFIG_FILE
    layers: list[Layer] = []
    for path, kind in ((user, "user"), (project, "project")):
        if kind == "project" and is_one_place(path, user):
            continue
        read = read_settings(path, "user" if kind == "user" else "project", trusts=trusts)
        if isinstance(read, Err):
            return Err(read.err_value)
        if read.ok_value is not None:
            layers.append(read.ok_value)
    return Ok(tuple(layers))


def _given(config: Mapping[str, JsonValue] | Path) -> Result[tuple[Layer, ...], OhmError]:
    if not isinstance(config, Path):
        mapping = read_mapping(config)
        return mapping if isinstance(mapping, Err) else Ok((mapping.ok_value,))
    read = read_settings(config, "given")
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


def _in_reading_order(found: tuple[Diagnostic, ...], sources: tuple[str, ...]) -> tuple[Diagnostic, ...]:
    def place(diagnostic: Diagnostic) -> tuple[int, int]:
        source = sources.index(diagnostic.source) if diagnostic.source in sources else len(sources)
        return source, diagnostic.line or 0

    return tuple(sorted(found, key=place))


def _rule_origins(permissions: Permissions, readings: Iterable[Reading]) -> dict[str, str]:
    prefix = ".".join(PATH)
    origins = {f"{prefix}.subagents.{name}": rule.source for name, rule in permissions.subagents.items()}
    if any(one.rules.default for one in readings):
        origins[f"{prefix}.default"] = permissions.default.source
    if permissions.routing_source != DEFAULT:
        origins[f"{prefix}.allowInternalRouting"] = permissions.routing_source
    return origins
