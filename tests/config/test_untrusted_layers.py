"""Whatever a project that is not trusted says in its ohm.json, no right grows, and what was refused is named."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents._config.load import load_config
from ohm_subagents._config.schema import FEATURES
from ohm_subagents._config.trust import trust_nothing
from ohm_subagents._policy.permissions import may_run
from ohm_subagents._policy.tools import resolve_tools
from ohm_subagents.contract import Profile
from ohm_subagents.contract.profile import ToolPolicy
from ohm_subagents.contract.result import Err

IDS = ("finder", "task")
NUMBERS = st.sampled_from([1, 2, 5, 9, 120, 8000, 180_000, 600_000])
SWITCHES = st.booleans()
BACKENDS = st.sampled_from(["none", "interactive-sdk", "interactive-shell", "docker"])
MODELS = st.sampled_from(["a/b", "a/c:high", "gguf//evil"])
NAMES = st.lists(st.sampled_from(["read", "bash", "write", "ls"]), unique=True, max_size=3)
VERDICTS = st.sampled_from(["allow", "deny"])


def objects(**fields):
    return st.fixed_dictionaries({}, optional=fields)


def disjoint(tools):
    return {"allow": tools["allow"], "deny": [one for one in tools["deny"] if one not in tools["allow"]]}


ENTRY = objects(
    model=MODELS,
    backend=BACKENDS,
    tools=NAMES | st.fixed_dictionaries({"allow": NAMES, "deny": NAMES}).map(disjoint),
    primary=SWITCHES,
    limits=objects(idleMs=NUMBERS, capMs=NUMBERS),
    loop=objects(identicalCalls=NUMBERS, polling=NAMES),
    budget=objects(tokens=NUMBERS, depth=NUMBERS),
)
SUBAGENTS = objects(
    taskMaxConcurrency=NUMBERS,
    maxRunning=NUMBERS,
    taskRetentionMs=NUMBERS,
    model=MODELS,
    sendToFinished=st.sampled_from(["refuse", "resume"]),
    asyncStart=st.sampled_from(["refuse", "allow"]),
    store=st.sampled_from(["sqlite", "snapshot", "memory"]),
    storeSync=st.sampled_from(["normal", "full"]),
    limits=objects(idleMs=NUMBERS, toolMs=NUMBERS, extendMs=NUMBERS, capMs=NUMBERS),
    loop=objects(identicalCalls=NUMBERS, polling=NAMES),
    budget=objects(requests=NUMBERS, spawns=NUMBERS),
    maxRequests=objects(openai=NUMBERS),
    requestRetries=NUMBERS,
    agentProfiles=SWITCHES,
    redact=SWITCHES,
    permissions=objects(
        default=VERDICTS, subagents=st.dictionaries(st.sampled_from(IDS), VERDICTS), allowInternalRouting=SWITCHES
    ),
    profiles=st.dictionaries(st.sampled_from(IDS), ENTRY),
    backends=objects(docker=objects(image=st.sampled_from(["a", "evil"]))),
)
CONFIGS = objects(
    defaultMode=st.sampled_from(["rush", "smart", "deep"]),
    subagentBackend=BACKENDS,
    features=objects(**dict.fromkeys(FEATURES, SWITCHES)),
    painter=objects(openai=objects(enabled=SWITCHES, model=st.sampled_from(["gpt-image-1", "evil"]))),
    providers=objects(acme=st.just({"baseUrl": "https://acme.test", "models": []})),
    suites=st.lists(st.sampled_from(["task", "primary", "delegate", "single"]), unique=True),
    suiteOptions=objects(delegate=objects(backend=BACKENDS), other=objects(place=st.sampled_from(["a", "b"]))),
    sdkFallbackToCli=SWITCHES,
    debug=SWITCHES,
    uiMode=st.sampled_from(["off", "compact", "verbose"]),
    loadPlugins=NAMES,
    blockPlugins=NAMES,
    **dict.fromkeys(
        (
            *("outputMaxChars", "onupdateThrottleMs", "backendTimeoutMs", "taskMaxEvents", "taskMaxEntries"),
            *("taskMaxExpiredEntries", "resultPreviewLines", "transcriptTailLines", "uiUpdateMs", "uiIdleGraceMs"),
        ),
        NUMBERS,
    ),
    subagents=SUBAGENTS,
)


class Rights:
    """Everything that a configuration allows, by kind: the values of the first are never more than of the second."""

    def __init__(self, config):
        subagents = config.subagents
        entries = {one: subagents.entry(one) for one in IDS}
        self.numbers = {
            "backendTimeoutMs": config.backend_timeout_ms,
            "taskMaxConcurrency": subagents.task_max_concurrency,
            "maxRunning": subagents.max_running,
            "requestRetries": subagents.request_retries,
            "maxRequests": subagents.max_requests.get("openai"),
            "identicalCalls": subagents.loop.identical_calls,
            "spawns": subagents.tree_budget().spawns,
            "requests": subagents.tree_budget().requests,
            "idleMs": subagents.limits.idle_ms,
            "capMs": subagents.limits.cap_ms,
            "outputMaxChars": config.output_max_chars,
            "defaultMode": ("rush", "smart", "deep").index(config.default_mode),
        }
        self.names = {
            "suites": {*config.suites},
            "features": {name for name in FEATURES if config.features.is_on(name)},
            "switches": {
                name
                for name, is_on in {
                    "sdkFallbackToCli": config.sdk_fallback_to_cli,
                    "asyncStart": subagents.async_start == "allow",
                    "sendToFinished": subagents.send_to_finished == "resume",
                    "internal": subagents.permissions.allow_internal_routing,
                }.items()
                if is_on
            },
            "may run": {name for name in IDS if decide_of(name, subagents.permissions)},
            "tools": {(name, tool) for name, one in entries.items() for tool in tools_of(one)},
            "primary": {name for name, one in entries.items() if one.primary},
            "polling": {*subagents.loop.polling, *((name, one.loop.polling) for name, one in entries.items())},
        }
        self.choices = {
            "code": (config.load_plugins, config.block_plugins, subagents.backends, config.providers),
            "store": (subagents.store, subagents.store_sync, subagents.task_retention_ms, config.task_max_entries),
            "suites": {name: options for name, options in config.suite_options.items() if options},
            "models": (subagents.model, [one.model for one in entries.values()], config.painter),
            "others": (subagents.agent_profiles, subagents.redact),
        }
        self.backends = {"": config.subagent_backend, **{name: one.backend for name, one in entries.items()}}


def decide_of(profile_id, permissions):
    profile = Profile(id=profile_id, name="", summary="", prompt="")
    return not isinstance(may_run(profile=profile, permissions=permissions, opinions=lambda: ()), Err)


def tools_of(entry):
    found = resolve_tools(ToolPolicy(), entry.tools)
    return () if isinstance(found, Err) else found.ok_value.names


def leaves(values, path=()):
    for key, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def at(values, path):
    for part in path:
        values = values.get(part, {}) if isinstance(values, dict) else {}
    return values


@given(CONFIGS, CONFIGS)
def test_no_right_grows_and_what_was_refused_is_named_with_file_line_and_key(users, projects):
    with TemporaryDirectory() as folder:
        user, cwd = Path(folder, "user"), Path(folder, "work")
        project = cwd / ".pi" / "ohm.json"
        user.mkdir()
        project.parent.mkdir(parents=True)
        (user / "ohm.json").write_text(json.dumps(users))

        def load():
            return load_config(cwd=cwd, config=None, env={"PI_CONFIG_DIR": str(user)}, trusts=trust_nothing).ok_value

        before = Rights(load().config)
        project.write_text(json.dumps(projects, indent=1))
        loaded = load()
    after = Rights(loaded.config)
    endless = float("inf")
    for name, most in before.numbers.items():
        now = after.numbers[name]
        assert (endless if now is None else now) <= (endless if most is None else most), name
    for name, most in before.names.items():
        assert after.names[name] <= most, name
    assert after.choices == before.choices
    for name, stands in before.backends.items():
        assert after.backends[name] in {stands, "none"}

    named = {tuple(one.subject.split(".")) for one in loaded.diagnostics if one.source == str(project) and one.line}
    written = loaded.config.model_dump(mode="json", by_alias=True)
    for path, value in leaves(projects):
        if "permissions" not in path and "tools" not in path and at(written, path) != value:
            assert any(path[:length] in named for length in range(1, len(path) + 1)), (path, value)
