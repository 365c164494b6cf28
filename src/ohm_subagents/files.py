"""The door for files that a plugin reads or keeps: bounded reading, front matter, folders, trust, locks.

Everything here takes the file of a stranger as it may be: too large, no text, a pipe, gone, locked by another process.
Errors are values that name the file and the line. `Covers` says whether the user trusts a file of a project; what an
untrusted project asks for is only ever less (`overriding`).
"""

from ohm_subagents._concurrency.file_lock import locked, try_lock
from ohm_subagents._config.accept import keep_valid
from ohm_subagents._config.jsonc import KeyPath
from ohm_subagents._config.layers import Layer, Location, read_settings
from ohm_subagents._config.regular_file import MAX_BYTES, is_one_place, read_regular, write_private
from ohm_subagents._config.trust import TRUST_COMMAND, Covers, trust_everything, trust_nothing
from ohm_subagents._config.values import MAX_INTEGER, parse_switch, quoted_value
from ohm_subagents._config.values import SECRET as SECRET_VALUE
from ohm_subagents._config.values import expected as invalid_value
from ohm_subagents._profiles.answer_keys import AnswerKeys
from ohm_subagents._profiles.documents import (
    MAX_FRONT_MATTER,
    Document,
    Fault,
    os_problem,
    read_document,
    read_folder,
    read_text,
    split_front_matter,
)
from ohm_subagents._profiles.timed_cache import TimedCache
from ohm_subagents._profiles.trust import overriding, tightened
from ohm_subagents._profiles.yaml_text import YamlText, dump_yaml

__all__ = [
    "MAX_BYTES",
    "MAX_FRONT_MATTER",
    "MAX_INTEGER",
    "SECRET_VALUE",
    "TRUST_COMMAND",
    "AnswerKeys",
    "Covers",
    "Document",
    "Fault",
    "KeyPath",
    "Layer",
    "Location",
    "TimedCache",
    "YamlText",
    "dump_yaml",
    "invalid_value",
    "is_one_place",
    "keep_valid",
    "locked",
    "os_problem",
    "overriding",
    "parse_switch",
    "quoted_value",
    "read_document",
    "read_folder",
    "read_regular",
    "read_settings",
    "read_text",
    "split_front_matter",
    "tightened",
    "trust_everything",
    "trust_nothing",
    "try_lock",
    "write_private",
]
