"""The door for taking secrets out of texts: known values, the forms of keys and tokens, and home directories."""

from ohm_subagents._views.known_secrets import LEAST_SECRET, secrets_of
from ohm_subagents._views.redaction import Redaction
from ohm_subagents._views.secret_forms import REDACTED
from ohm_subagents.contract import Redactor

__all__ = [
    "LEAST_SECRET",
    "REDACTED",
    "Redaction",
    "Redactor",
    "secrets_of",
]
