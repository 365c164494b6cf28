"""The door for taking secrets out of texts: known values, the forms of keys and tokens, and home directories."""

from ohm_subagents.contract import Redactor
from ohm_subagents.redaction.known_values import LEAST_SECRET, secrets_of
from ohm_subagents.redaction.quotations import redacted_line, redacted_text
from ohm_subagents.redaction.redactor import Redaction
from ohm_subagents.redaction.secret_forms import REDACTED

__all__ = [
    "LEAST_SECRET",
    "REDACTED",
    "Redaction",
    "Redactor",
    "redacted_line",
    "redacted_text",
    "secrets_of",
]
