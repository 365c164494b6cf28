"""The line of a call."""

import pytest

from ohm_subagents.views import PLAIN, call_line


@pytest.mark.parametrize(
    ("arguments", "argument", "line"),
    [
        ({}, None, "sweep"),
        (None, None, "sweep"),
        ({"room": "küche", "twice": True}, None, 'sweep {"room": "küche", "twice": true}'),
        ({"room": "the\nkitchen", "twice": True}, "room", "sweep the kitchen"),
        ({"room": ""}, "room", "sweep ?"),
        ({"room": 7}, "room", "sweep ?"),
        ("{", "room", "sweep ?"),
    ],
)
def test_it_names_the_tool_and_what_it_is_called_with(arguments, argument, line):
    assert call_line("sweep", arguments, PLAIN, argument=argument) == line
