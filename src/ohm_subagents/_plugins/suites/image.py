"""An image that a tool returns beside its text."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from hashlib import sha256
from typing import ClassVar, Final

from ohm_subagents._records import dataclass

MEDIA_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_DIGITS: Final = 12


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image in a result. Raises ValueError for a media type that models do not take, and for more than 4 MiB."""

    MAX_BYTES: ClassVar[int] = 4 * 1024 * 1024
    """The most bytes of an image."""
    MAX_IN_RESULT: ClassVar[int] = 10
    """The most images of a result."""

    data: bytes = field(repr=False)
    """The file itself."""
    media_type: str
    """`image/png`, `image/jpeg`, `image/gif` or `image/webp`."""

    def __post_init__(self) -> None:
        if self.media_type not in MEDIA_TYPES:
            msg = f"An image has to be {', '.join(MEDIA_TYPES)}, not {self.media_type!r:.100}."
            raise ValueError(msg)
        if len(self.data) > self.MAX_BYTES:
            msg = f"An image of {len(self.data)} bytes has more than {self.MAX_BYTES}; make it smaller."
            raise ValueError(msg)

    @cached_property
    def label(self) -> str:
        """Its kind, size and digest in brackets: all that a text, an event or the registry says of it."""
        digest = sha256(self.data).hexdigest()[:_DIGITS]
        return f"[{self.media_type}, {len(self.data)} bytes, sha256 {digest}]"


def check_number(images: tuple[Image, ...]) -> None:
    """Raise ValueError for more images than one result may have."""
    if len(images) > Image.MAX_IN_RESULT:
        msg = f"A result has {len(images)} images, more than {Image.MAX_IN_RESULT}; return fewer."
        raise ValueError(msg)
