"""The door for taking secrets out of texts: known values, the forms of keys and tokens, and home directories.

`redactor.Redaction` does it, by `known_values.secrets_of` an environment, `secret_forms.without_secrets` and the rules
of `token_shapes`. When and where a text is redacted is decided elsewhere.
"""

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
