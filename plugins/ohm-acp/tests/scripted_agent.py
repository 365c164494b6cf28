"""A scripted ACP agent: a process of its own, which starts fast because it imports little but json.

Words of the prompt choose what it does, words of its command line what it is. It keeps its sessions, and what the
client says, in the directory that its last argument names.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

Json = dict[str, Any]
IS = set(sys.argv[1:-1])
HOME = Path(sys.argv[-1])
TEXT = "Hello from the agent."
USAGE = {"inputTokens": 60, "outputTokens": 20, "cachedReadTokens": 40, "totalTokens": 120}
GARBAGE = b'not json\n{"jsonrpc": "2.0", "id": [1], "result": {}}\n[1, 2]\n\xff\xfe\n{"method": 7}\n{"id": 4}\n\n'
END: Json = {"stopReason": "end_turn"}
waiting: list[Json] = []


class RefusedError(Exception):
    """An error in answer to a request: the arguments are those of JSON-RPC."""


def send(**message: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def read() -> Json | None:
    """The next message of the client, first those that came while an answer was waited for."""
    if waiting:
        return waiting.pop(0)
    line = sys.stdin.readline()
    message: Json | None = json.loads(line) if line else None
    return message


def note(key: str, value: object) -> None:
    """Keep what the client said, for the test to look at."""
    with (HOME / f"{key}.jsonl").open("a") as file:
        file.write(json.dumps(value) + "\n")


def hang() -> NoReturn:
    while True:
        signal.pause()


def posted(server: Json, method: str, params: Json) -> Json:
    """Ask the MCP server of the client."""
    from urllib.request import Request, urlopen

    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {one["name"]: one["value"] for one in server["headers"]}
    headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with urlopen(Request(server["url"], body, headers)) as answer:
        result: Json = json.load(answer)["result"]
    return result


class Prompt:
    """One prompt. Each method is what a word of it has the agent do; the answer to the prompt, or None to go on."""

    def __init__(self, session: str, text: str, turns: list[str], servers: list[Json]) -> None:
        self.session, self.text, self.turns, self.servers = session, text, turns, servers

    def answer(self) -> Json:
        for word in self.text.split():
            act = getattr(self, f"do_{word.replace('-', '_')}", None)
            done: Json | None = act() if act else None
            if done is not None:
                return done
        cost = {"amount": 0.25 * (len(self.turns) + 1), "currency": "USD"}
        self.update("usage_update", used=120, size=200000, cost=cost)
        self.say(TEXT[:5])
        self.say(TEXT[5:])
        return {**END, "usage": USAGE}

    def update(self, what: str, **fields: object) -> None:
        send(method="session/update", params={"sessionId": self.session, "update": {"sessionUpdate": what, **fields}})

    def say(self, text: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def use(self, call: str, kind: str, name: str, args: Json, output: str) -> None:
        told = {"toolCallId": call, "kind": kind, "_meta": {"a": {"toolName": name}}}
        self.update("tool_call", **told, title=name, status="pending", rawInput={})
        self.update("tool_call_update", **told, rawInput=args)
        self.update("tool_call_update", **told, status="completed", rawOutput=output)

    def may(self, call: str, kind: str, name: str, args: Json | None = None) -> str:
        """Ask for permission; whatever else the client says until it answers is read later."""
        options = [
            {"optionId": "always", "name": "Always", "kind": "allow_always"},
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
        if "only-always" in IS:
            del options[1]
        told = {"toolCallId": call, "title": name, "kind": kind, "_meta": {"a": {"toolName": name}}}
        asked = {
            "sessionId": self.session,
            "toolCall": {**told, "rawInput": args or {"what": name}},
            "options": options,
        }
        send(id=f"ask-{call}", method="session/request_permission", params=asked)
        while (message := read()) is not None:
            if message.get("id") == f"ask-{call}":
                chosen: Json = message["result"]["outcome"]
                note("permissions", chosen)
                return str(chosen.get("optionId"))
            waiting.append(message)
        return ""

    def do_tools(self) -> None:
        self.say("Let me look.")
        self.use("c1", "execute", "Bash", {"command": "ls"}, "a.py\nb.py")
        self.use("c2", "read", "Read", {"file_path": "a.py"}, "print()")

    def do_write(self) -> None:
        diff = {"type": "diff", "path": str(Path.cwd() / "new.txt"), "newText": "x"}
        self.update("tool_call", toolCallId="w1", title="Write new.txt", kind="edit", status="in_progress")
        self.update("tool_call_update", toolCallId="w1", status="completed", content=[diff])

    def do_permission(self) -> None:
        for call, kind, name in (("p1", "read", "Read"), ("p2", "execute", "Bash"), ("p3", "fetch", "WebFetch")):
            chosen = self.may(call, kind, name)
            status = "completed" if chosen == "yes" else "failed"
            self.update("tool_call_update", toolCallId=call, status=status, rawOutput=chosen)

    def do_shell(self) -> None:
        """Run a command as the tool of an agent does that asks before each call."""
        import subprocess  # the other scripts start faster without it

        command = self.text.partition("shell ")[2]
        chosen = self.may("b1", "execute", "Bash", {"command": command})
        output = subprocess.run(command, shell=True, check=False).returncode if chosen == "yes" else "refused"
        status = "completed" if chosen == "yes" else "failed"
        self.update("tool_call_update", toolCallId="b1", status=status, rawOutput=f"{output}")

    def do_shell_in(self) -> None:
        """Ask for a command, and say besides in which folder it would run, and what it is for."""
        folder, _, command = self.text.partition("shell-in ")[2].partition(" ")
        self.may("b1", "execute", "Bash", {"command": command, "cwd": folder, "description": f"In {folder}"})

    def do_requests(self) -> None:
        """Ask for what the client does not have, and say what it does not know."""
        send(id=900, method="fs/read_text_file", params={"sessionId": self.session, "path": "/etc/passwd"})
        note("refused", (read() or {})["error"]["code"])
        self.update("from_the_future", more=1)
        send(method="$/unknown", params={})

    def do_crash(self) -> NoReturn:
        self.say("Half an ans")
        sys.stderr.write("warning: it gets hot\nError: out of luck\n")
        sys.stderr.flush()
        os._exit(3)

    def do_closed(self) -> NoReturn:
        os.close(1)
        hang()

    def do_garbage(self) -> None:
        sys.stdout.buffer.write(GARBAGE)
        sys.stdout.buffer.flush()

    def do_flood(self) -> None:
        update = {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "x"}}
        line = {"method": "session/update", "params": {"sessionId": self.session, "update": update}}
        sys.stdout.write((json.dumps(line) + "\n") * 2000)

    def do_hang(self) -> Json:
        self.say("So far.")
        note("heard", (read() or {}).get("method"))  # the client cancels
        if "deaf" in self.text:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            hang()
        return {"stopReason": "cancelled", "usage": USAGE}

    def do_past(self) -> Json:
        self.say(" | ".join(self.turns))
        return END

    def do_child_tool(self) -> None:
        name, args = json.loads(self.text.partition("child-tool ")[2])
        told = {"toolCallId": "m1", "kind": "other", "_meta": {"a": {"toolName": f"mcp__ohm__{name}"}}}
        self.update("tool_call", **told, title=name, status="pending", rawInput={})
        result = posted(self.servers[0], "tools/call", {"name": name, "arguments": args})
        self.update("tool_call_update", **told, rawInput=args, status="completed", rawOutput=str(result))

    def do_error(self) -> NoReturn:
        raise RefusedError(-32603, "Internal error", {"details": "API Error: 400 bad model sk-secret1"})

    def do_reason(self) -> Json:
        self.say("Some words.")
        return {"stopReason": self.text.split()[-1]}

    def do_shrug(self) -> NoReturn:
        raise RefusedError

    def do_nothing(self) -> Json:
        return END


class Agent:
    """The answers to the requests of the client."""

    def __init__(self) -> None:
        self.servers: list[Json] = []
        self.is_logged_in = "auth" not in IS

    def initialize(self, _params: Json) -> Json:
        sessions: Json = {"resume": {}} if IS & {"resume", "lies"} else {}
        can: Json = {"loadSession": "load" in IS, "sessionCapabilities": sessions}
        return {
            "protocolVersion": "2027-01-01" if "future" in IS else 1,
            "agentCapabilities": {**can, "mcpCapabilities": {"http": "no-http" not in IS}},
            "authMethods": [{"id": "key", "name": "Key"}] if "auth" in IS else [],
            "agentInfo": {"name": "opencode" if "imposter" in IS else "scripted-claude", "version": "1"},
        }

    def authenticate(self, params: Json) -> Json:
        note("logins", params["methodId"])
        self.is_logged_in = True
        return {}

    def session_new(self, params: Json) -> Json:
        if not self.is_logged_in:
            raise RefusedError(-32000, "Authentication required")
        session = f"s{len([*HOME.glob('session-*')])}-{os.getpid()}"
        file_of(session).write_text("[]")
        return {"sessionId": session, **self.opened("session/new", params)}

    def session_resume(self, params: Json) -> Json:
        if "lies" in IS:
            raise RefusedError(-32601, '"Method not found": session/resume')
        return self.opened("session/resume", params)

    def session_load(self, params: Json) -> Json:
        prompt = Prompt(params["sessionId"], "", [], [])
        for turn in json.loads(file_of(params["sessionId"]).read_text()):
            prompt.update("user_message_chunk", content={"type": "text", "text": turn})
            prompt.say("an old answer ")
        return self.opened("session/load", params)

    def opened(self, method: str, params: Json) -> Json:
        note("sessions", {"method": method, **params, "env": dict(os.environ)})
        self.servers = params["mcpServers"]
        for server in self.servers:
            posted(server, "tools/list", {})
        models = {"availableModels": [{"modelId": "one"}, {"modelId": "two"}], "currentModelId": "one"}
        return {"models": models} if "models" in IS else {}

    def session_set_model(self, params: Json) -> Json:
        note("models", params["modelId"])
        return {}

    def session_prompt(self, params: Json) -> Json:
        text = "\n".join(block["text"] for block in params["prompt"])
        file = file_of(params["sessionId"])
        turns = json.loads(file.read_text())
        note("prompts", text)
        file.write_text(json.dumps([*turns, text]))
        return Prompt(params["sessionId"], text, turns, self.servers).answer()


def file_of(session: str) -> Path:
    return HOME / f"session-{session}.json"


def main() -> None:
    if "hang-at-start" in IS:
        hang()
    if "says-nothing" in IS:
        sys.exit("usage: agent [--acp]")
    agent = Agent()
    while (message := read()) is not None:
        answer = getattr(agent, f"{message.get('method')}".replace("/", "_"), None)
        if "id" not in message:
            continue
        try:
            if answer is None:
                raise RefusedError(-32601, "Method not found")  # noqa: TRY301  the same way as all others
            send(id=message["id"], result=answer(message.get("params") or {}))
        except RefusedError as refused:
            send(id=message["id"], error=dict(zip(("code", "message", "data"), refused.args, strict=False)))


main()
