"""The content of a prompt as the text that a subagent gets."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from ohm_subagents.contract import Err, Ok

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.contract import Result

    Block = (
        TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
    )


def prompt_text(blocks: Iterable[Block]) -> Result[str, str]:
    """Return the text of a prompt, or the sentence that refuses the first block that has none, or a blank prompt."""
    texts: list[str] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                texts.append(text)
            case ResourceContentBlock(uri=uri, name=name):
                texts.append(f"[{name}]({_place(uri)})")
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                texts.append(f"\n<resource uri={_place(uri)!r}>\n{text}\n</resource>\n")
            case EmbeddedResourceContentBlock(resource=resource):
                return Err(_refusal(f"the resource {resource.uri!r:.200}, which is no text"))
            case ImageContentBlock(mime_type=kind) | AudioContentBlock(mime_type=kind):
                return Err(_refusal(f"content of the type {kind!r:.80}"))
    text = "".join(texts)
    return Ok(text) if text.strip() else Err("The prompt is blank. Write what the subagent is to do.")


def _refusal(content: str) -> str:
    return (
        f"The prompt has {content}; allowed: text, links and text of files. Save it to a file, and name its path in "
        "the prompt."
    )


def _place(uri: str) -> str:
    """Return the path of a local file, which the tools of a subagent take, or the address as it is."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    return unquote(parts.path) if parts.scheme == "file" and parts.path else uri
