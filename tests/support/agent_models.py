"""A scripted model for the real command-line agents, on 127.0.0.1: Anthropic, Gemini, and both protocols of OpenAI.

It makes calls of tools of the server `ohm…`, one a request, and then says `END`. `=Bash` is a tool of the agent itself.
Where the calls follow from more than the number of results, a function of the conversation says the next one.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

ARGUMENTS = {"op": "start", "subagent_type": "finder", "description": "Login", "prompt": "answer"}
END = "The subagent has answered."


def names_in(tools):
    """The names of tools, each with the namespace that it is in, if it is in one."""
    for tool in tools:
        for inner in tool.get("tools", ()):
            yield inner.get("name", ""), tool["name"]
        yield tool.get("name", ""), None


def anthropic_events(body, model):
    read = [
        part
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part.get("type") == "tool_result"
    ]
    name, _, arguments = model.next_call(names_in(body.get("tools", ())), read, body["messages"])
    number, usage = next(model.numbers), {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": []}
    message["usage"] = usage
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}
    if name:
        start = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
        delta, reason = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}, "tool_use"
    else:
        start, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": END}, "end_turn"
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def responses_events(body, model):
    read = [item for item in body["input"] if item.get("type") == "function_call_output"]
    name, namespace, arguments = model.next_call(names_in(body.get("tools", ())), read, body["input"])
    number = next(model.numbers)
    if name:
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
        item |= {"arguments": json.dumps(arguments), "status": "completed"}
        item |= {} if namespace is None else {"namespace": namespace}
    else:
        part = {"type": "output_text", "text": END, "annotations": []}
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]}
    response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    done = {**response, "status": "completed", "output": [item], "usage": usage}
    yield {"type": "response.completed", "response": done}


def chat_events(body, model):
    read = [message for message in body["messages"] if message["role"] == "tool"]
    offered = [(tool["function"]["name"], None) for tool in body.get("tools", ())]
    name, _, arguments = model.next_call(offered, read, body["messages"])
    number = next(model.numbers)
    chunk = {"id": f"chatcmpl_{number}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    if name:
        function = {"name": name, "arguments": json.dumps(arguments)}
        delta = {"tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]}
        reason = "tool_calls"
    else:
        delta, reason = {"content": END}, "stop"
    yield {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}


def gemini_events(body, model):
    parts = [part for content in body["contents"] for part in content.get("parts", ())]
    read = [part["functionResponse"] for part in parts if "functionResponse" in part]
    offered = [(each["name"], None) for tool in body.get("tools", ()) for each in tool.get("functionDeclarations", ())]
    name, _, arguments = model.next_call(offered, read, body["contents"])
    part = {"functionCall": {"name": name, "args": arguments}} if name else {"text": END}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    yield {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}


def event_name(event):
    return f"event: {event['type']}\n" if "type" in event else ""


EVENTS = {
    "/v1/messages": anthropic_events,
    "/v1/responses": responses_events,
    "/v1/chat/completions": chat_events,
    ":streamGenerateContent": gemini_events,
}


class AgentModel:
    """`read`: the results of tools that the model was given. `offered`: the names of tools, request by request.

    `numbers` are for the ids of its answers and calls: agents take two answers of one id for parts of one message.
    """

    def __init__(self, url, calls):
        self.url = url
        self.calls = calls
        self.read = []
        self.offered = []
        self.numbers = count(1)

    def next_call(self, offered, read, messages):
        """The name, the namespace and the arguments of the call that comes after these results; no name for none."""
        offered = list(offered)
        self.offered.append([name for name, _ in offered])
        self.read += read[len(self.read) :]
        call = self._call_after(read, messages) if offered else None
        if call is None:
            return None, None, None
        wanted, arguments = call
        ours = ((name, space) for name, space in offered if name.endswith(wanted) and "ohm" in f"{space}{name}")
        theirs = ((name, space) for name, space in offered if f"={name}" == wanted)
        return (*next(ours, next(theirs, (None, None))), arguments)

    def _call_after(self, read, messages):
        if callable(self.calls):
            return self.calls(messages)
        return self.calls[len(read)] if len(read) < len(self.calls) else None


@contextmanager
def agent_model(*calls, script=None):
    """Serve a model that makes these calls, each the end of a tool's name and the arguments.

    `script(messages)` returns such a call for a conversation, or None for the answer.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            path = self.path.partition("?")[0]
            events = next((events for end, events in EVENTS.items() if path.endswith(end)), None)
            if events is None:
                self.answer(200, "application/json", b"{}")
                return
            lines = [f"{event_name(event)}data: {json.dumps(event)}\n\n" for event in events(body, model)]
            self.answer(200, "text/event-stream", "".join(lines).encode())

        def do_GET(self):
            self.answer(404, "application/json", b"{}")

        do_HEAD = do_GET  # noqa: N815  the name that the server looks for

        def answer(self, status, kind, body):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", f"{len(body)}")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model = AgentModel(f"http://127.0.0.1:{server.server_port}", script or [*calls] or [("task", ARGUMENTS)])
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
