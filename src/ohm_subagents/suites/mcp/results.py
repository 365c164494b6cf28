"""Results of MCP tools for a model: text that is bounded, images, and a sentence in place of anything else."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import TYPE_CHECKING, Final

from mcp_types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents

from ohm_subagents.suite import Image, encodable

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

MAX_CHARS: Final = 100_000


def content_of(result: CallToolResult) -> tuple[str, tuple[Image, ...]]:
    """Return the result as text and the images in it; structured content counts where there is nothing else."""
    images: list[Image] = []
    text = "\n".join(_block(block, images) for block in result.content)
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False)
    return encodable(text), tuple(images)


def bounded(text: str) -> str:
    """Return the text, or its first `MAX_CHARS` characters and a note."""
    if len(text) <= MAX_CHARS:
        return text
    return f"{text[:MAX_CHARS]}\n[cut: {len(text) - MAX_CHARS} more characters]"


def _block(block: ContentBlock, images: list[Image]) -> str:
    """Return a block as text; `images` gets an image that models can take."""
    match block:
        case TextContent(text=text):
            return text
        case ImageContent(mime_type=kind, data=data):
            if len(images) == Image.MAX_IN_RESULT:
                return f"[{kind}, {_size(data)} bytes: no more than {Image.MAX_IN_RESULT} images can be shown]"
            try:
                image = Image(data=b64decode(data, validate=True), media_type=kind)
            except ValueError as unfit:
                return f"[{kind}, {_size(data)} bytes: {unfit}]"
            images.append(image)
            return image.label
        case AudioContent(mime_type=kind, data=data):
            return f"[{kind}, {_size(data)} bytes: only text and images can be shown here]"
        case ResourceLink(uri=uri, name=name):
            return f"[resource {name}: {uri}]"
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case EmbeddedResource(resource=resource):
            return f"[resource {resource.uri}: only text and images can be shown here]"


def _size(data: str) -> int:
    return len(data) * 3 // 4
