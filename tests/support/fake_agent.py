"""A program that stands in for a command-line agent: it calls child tools over MCP, and prints as the real ones do.

`python fake_agent.py <cli> …` does what its prompt says: one word of `ACTS` a line, with its argument behind it.
"""

import json
import os
import signal
import sys
from pathlib import Path

CLI, ARGV, ENV = sys.argv[1], sys.argv[2:], os.environ
SERVER = "ohm-run"
PREFIX = {"claude": f"mcp__{SERVER}__", "opencode": f"{SERVER}_", "qwen": f"mcp__{SERVER}__"}.get(CLI, "")


def claude_server():
    file = next(word for word in ARGV if word.startswith("--mcp-config=")).partition("=")[2]
    server = json.loads(Path(file).read_text())["mcpServers"][SERVER]
    return server["url"], server["headers"]["Authorization"]


def codex_server():
    import tomllib

    setting = next(word for word in ARGV if word.startswith("mcp_servers."))
    server = tomllib.loads(setting)["mcp_servers"][SERVER]
    return server["url"], f"Bearer {ENV[server['bearer_token_env_var']]}"


def opencode_server():
    server = json.loads(ENV["OPENCODE_CONFIG_CONTENT"])["mcp"][SERVER]
    return server["url"], server["headers"]["Authorization"]


def qwen_server():
    server = json.loads(Path(ENV["QWEN_CODE_SYSTEM_DEFAULTS_PATH"]).read_text())["mcpServers"][SERVER]
    return server["httpUrl"], server["headers"]["Authorization"]


def asked(method, params):
    from http.client import HTTPConnection

    url, token = globals()[f"{CLI}_server"]()
    _, _, place, path = url.split("/")
    connection = HTTPConnection(place)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection.request("POST", f"/{path}", body, {**kinds, "Authorization": token})
    return json.loads(connection.getresponse().read())["result"]


def tell(*records):
    for record in records:
        sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


def blocks(role, *content, usage=None):
    return {"type": role, "message": {"model": "m", "content": [*content], "usage": usage or {}}}


TURN = {"type": "stream_event", "event": {"type": "message_delta", "usage": {"output_tokens": 1}}}

FAILURE = {
    "codex": {"type": "turn.failed", "error": {"message": "it broke"}},
    "opencode": {"type": "error", "error": {"name": "Broken", "data": {"message": "it broke"}}},
}.get(CLI, {"type": "result", "subtype": "error", "is_error": True, "result": "it broke"})


def begin():
    if CLI == "codex":
        tell({"type": "thread.started", "thread_id": "s-1"})
    elif CLI == "opencode":
        tell({"type": "step_start", "sessionID": "s-1"})
    else:
        tell({"type": "system", "subtype": "init", "session_id": "s-1", "model": "m"})


def call(number, name, arguments, answer):
    """Report a call, whose answer is given by a function: the text, and whether it is one of success."""
    item = {"id": f"c{number}", "type": "mcp_tool_call", "server": SERVER, "tool": name, "arguments": arguments}
    name = name if name in {"Read", "Bash"} else f"{PREFIX}{name}"
    if CLI == "codex":
        tell({"type": "item.started", "item": item})
    elif CLI != "opencode":
        tell(blocks("assistant", {"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments}))
    text, ok = answer()
    content = [{"type": "text", "text": text}]
    if CLI == "codex":
        status = "completed" if ok else "failed"
        tell({"type": "item.completed", "item": {**item, "status": status, "result": {"content": content}}})
    elif CLI == "opencode":
        state = {"status": "completed" if ok else "error", "input": arguments, "output" if ok else "error": text}
        tell({"type": "tool_use", "part": {"tool": name, "callID": f"c{number}", "state": state}})
    else:
        tell(
            blocks("user", {"type": "tool_result", "tool_use_id": f"c{number}", "content": content, "is_error": not ok})
        )


def end(text):
    if CLI == "codex":
        usage = {"input_tokens": 1, "output_tokens": 1}
        said = {"type": "item.completed", "item": {"type": "agent_message", "text": text}}
        tell(said, {"type": "turn.completed", "usage": usage})
    elif CLI == "opencode":
        tokens = {"input": 1, "output": 1}
        tell({"type": "text", "part": {"text": text}})
        tell({"type": "step_finish", "part": {"reason": "stop", "tokens": tokens}})
    else:
        usage = {"output_tokens": 1} if CLI == "qwen" else None
        tell(blocks("assistant", {"type": "text", "text": text}, usage=usage), *([TURN] if CLI == "claude" else []))
        tell({"type": "result", "subtype": "success", "is_error": False, "result": text})


def child(name, arguments):
    def answer():
        result = asked("tools/call", {"name": name, "arguments": arguments})
        return result["content"][0]["text"], not result.get("isError")

    return answer


def said_to_claude():
    """Take part in the control protocol as far as the prompt."""
    begin = json.loads(sys.stdin.readline())
    hook = begin["request"]["hooks"]["PreToolUse"][0]
    assert 0 < hook["timeout"] * 1000 < 2**31, "a longer time would be over at once"
    answer = {"subtype": "success", "request_id": begin["request_id"], "response": {}}
    tell({"type": "control_response", "response": answer})
    return json.loads(sys.stdin.readline())["message"]["content"], hook["hookCallbackIds"][0]


def read(number):
    if CLI == "codex":
        item = {"id": f"c{number}", "type": "command_execution", "command": "cat a", "aggregated_output": "text"}
        tell({"type": "item.started", "item": item}, {"type": "item.completed", "item": item})
    else:
        call(number, "Read", {"file_path": "a"}, lambda: ("text", True))


def shell(number, command, hook):
    """Run a command as the tool of Claude Code does, if the hook has nothing against it."""

    def answer():
        given = {
            "tool_name": "Bash",
            "tool_input": {"command": command, "description": f"{number}"},
            "tool_use_id": f"c{number}",
        }
        asked = {"subtype": "hook_callback", "callback_id": hook, "input": given}
        if hook is not None:
            tell({"type": "control_request", "request_id": f"r{number}", "request": asked})
            if command == "leave":
                tell({"type": "control_cancel_request", "request_id": f"r{number}"})
                return "left", False
            heard = json.loads(sys.stdin.readline())["response"]["response"].get("hookSpecificOutput", {})
            if heard.get("permissionDecision") == "deny":
                return heard["permissionDecisionReason"], False
            if heard.get("permissionDecision") != "allow" and "--allowedTools=Bash" not in ARGV:
                return "It is not allowed to.", False
        return str(os.system(command)), True

    call(number, "Bash", {"command": command}, answer)


def main():
    prompt, hook = said_to_claude() if "--input-format" in ARGV else (sys.stdin.read(), None)
    Path("call.json").write_text(json.dumps({"argv": ARGV, "env": dict(ENV)}))
    begin()
    said = "Hello."
    for number, line in enumerate(prompt.splitlines()):
        act, _, rest = line.partition(" ")
        if act == "CALL":
            name, arguments = json.loads(rest)
            call(number, name, arguments, child(name, arguments))
        elif act == "REFUSE":
            name, arguments = json.loads(rest)
            call(number, name, arguments, lambda: ("not allowed", False))
        elif act == "READ":
            read(number)
        elif act == "SHELL":
            shell(number, rest, hook)
        elif act == "LIST":
            said = ", ".join(one["name"] for one in asked("tools/list", {})["tools"])
        elif act == "RECALL":
            said = "before" if "s-1" in ARGV else "nothing"
        elif act == "FAIL":
            tell(FAILURE)
            return
        elif act == "HANG":
            signal.pause()
    end(said)


main()
