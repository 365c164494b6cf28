"""The state from which a session of an agent is continued, as the text that is stored with a task."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError


class Checkpoint(BaseModel):
    """The agent's own id of a session, and what the session had cost when it was left: agents count on from there."""

    model_config = ConfigDict(frozen=True, strict=True)

    session: str = ""
    cost_usd: float = 0.0

    @classmethod
    def read(cls, text: str | None) -> Checkpoint:
        """Return the state of a request; one without a session if there is none, or if it cannot be read."""
        try:
            return cls.model_validate_json(text or "{}")
        except ValidationError:
            return cls()
