"""A scripted model for the real command-line agents, on 127.0.0.1: Anthropic, Gemini, and both protocols of OpenAI.

It calls the tool `task` of the server `ohm`, and then says what it has read.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ARGUMENTS = {"op": "start", "subagent_type": "finder", "description": "Login", "prompt": "answer"}
END = "The subagent has answered."


def tool_of(tools):
    """The name of our tool, and the namespace that it is in, if it is in one."""
    for tool in tools:
        for inner in tool.get("tools", ()):
            if inner.get("name", "").endswith("task"):
                return inner["name"], tool["name"]
        name = tool.get("name", "")
        if "ohm" in name and name.endswith("task"):
            return name, None
    return None


def anthropic_events(body, model):
    read = [
        part
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part.get("type") == "tool_result"
    ]
    model.read += read
    tool = tool_of(body.get("tools", ()))
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}
    if tool is not None and not read:
        start = {"type": "tool_use", "id": "toolu_1", "name": tool[0], "input": {}}
        delta, reason = {"type": "input_json_delta", "partial_json": json.dumps(ARGUMENTS)}, "tool_use"
    else:
        start, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": END}, "end_turn"
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def responses_events(body, model):
    read = [item for item in body["input"] if item.get("type") == "function_call_output"]
    model.read += read
    tool = tool_of(body.get("tools", ()))
    if tool is not None and not read:
        name, namespace = tool
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name}
        item |= {"arguments": json.dumps(ARGUMENTS), "status": "completed"}
        item |= {} if namespace is None else {"namespace": namespace}
    else:
        part = {"type": "output_text", "text": END, "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    done = {**response, "status": "completed", "output": [item], "usage": usage}
    yield {"type": "response.completed", "response": done}


def chat_events(body, model):
    read = [message for message in body["messages"] if message["role"] == "tool"]
    model.read += read
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    tool = next((name for name in names if "ohm" in name and name.endswith("task")), None)
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    if tool is not None and not read:
        function = {"name": tool, "arguments": json.dumps(ARGUMENTS)}
        delta = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
        reason = "tool_calls"
    else:
        delta, reason = {"content": END}, "stop"
    yield {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}


def gemini_events(body, model):
    parts = [part for content in body["contents"] for part in content.get("parts", ())]
    read = [part["functionResponse"] for part in parts if "functionResponse" in part]
    model.read += read
    offered = [each["name"] for tool in body.get("tools", ()) for each in tool.get("functionDeclarations", ())]
    tool = next((name for name in offered if "ohm" in name and name.endswith("task")), None)
    part = {"text": END} if tool is None or read else {"functionCall": {"name": tool, "args": ARGUMENTS}}
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
    """`read`: the results of tools that the model was given."""

    def __init__(self, url):
        self.url = url
        self.read = []


@contextmanager
def agent_model():
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
    model = AgentModel(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
