"""The door for taking secrets out of texts: known values, the forms of keys and tokens, and home directories."""

from ohm_subagents._redaction.known_values import LEAST_SECRET, secrets_of
from ohm_subagents._redaction.quotations import redacted_line, redacted_text
from ohm_subagents._redaction.redactor import Redaction
from ohm_subagents._redaction.secret_forms import REDACTED
from ohm_subagents.contract import Redactor

__all__ = [
    "LEAST_SECRET",
    "REDACTED",
    "Redaction",
    "Redactor",
    "redacted_line",
    "redacted_text",
    "secrets_of",
]
