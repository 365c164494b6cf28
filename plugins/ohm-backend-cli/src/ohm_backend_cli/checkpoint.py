"""The state from which a session of a CLI is continued, as the text that is stored with a task."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError


class Checkpoint(BaseModel):
    """The CLI's own id of a session, and what the session had used when it was left.

    The totals are there because some CLIs count on from where a resumed session was: only with them it can be run what
    a run used itself.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    session: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    @classmethod
    def read(cls, text: str | None) -> Checkpoint:
        """Return the state of a request; one without a session if there is none, or if it cannot be read."""
        try:
            return cls.model_validate_json(text or "{}")
        except ValidationError:
            return cls()
