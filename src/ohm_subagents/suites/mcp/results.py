"""Results of MCP tools as texts for a model: bounded, and a sentence in place of what is no text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from mcp_types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents

from ohm_subagents.suite import encodable

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

MAX_CHARS: Final = 100_000


def text_of(result: CallToolResult) -> str:
    """Return the result as text; structured content counts where there is nothing else."""
    text = "\n".join(map(_block, result.content))
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False)
    return encodable(text)


def bounded(text: str) -> str:
    """Return the text, or its first `MAX_CHARS` characters and a note."""
    if len(text) <= MAX_CHARS:
        return text
    return f"{text[:MAX_CHARS]}\n[cut: {len(text) - MAX_CHARS} more characters]"


def _block(block: ContentBlock) -> str:
    match block:
        case TextContent(text=text):
            return text
        case ImageContent(mime_type=kind, data=data) | AudioContent(mime_type=kind, data=data):
            return f"[{kind}, {len(data) * 3 // 4} bytes: only text can be shown here]"
        case ResourceLink(uri=uri, name=name):
            return f"[resource {name}: {uri}]"
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case EmbeddedResource(resource=resource):
            return f"[resource {resource.uri}: only text can be shown here]"
