from ohm_subagents.testing import MemoryHost


def test_it_remembers_what_it_is_told_and_what_stands_on_its_screen() -> None:
    host = MemoryHost(tools=["read"])
    host.set_status("a", "busy")
    host.set_widget("a", ["one", "two"])
    host.send_message("note", "text", display=False)
    host.send_user_message("go on", follow_up=True)
    assert (host.statuses, host.widgets) == ({"a": "busy"}, {"a": ("one", "two")})
    host.set_status("a", None)
    host.set_widget("a", None)
    assert (host.statuses, host.widgets) == ({}, {})
    assert host.calls == [
        ("set_status", "a", "busy"),
        ("set_widget", "a", ("one", "two")),
        ("send_message", "note", "text", False),
        ("send_user_message", "go on", True),
        ("set_status", "a", None),
        ("set_widget", "a", None),
    ]
    assert host.active_tools() == ("read",)


def test_an_entry_that_was_appended_is_on_the_branch() -> None:
    host = MemoryHost(branch=[{"type": "message"}])
    host.append_entry("ohm-subagents", {"n": 1})
    assert host.branch() == (
        {"type": "message"},
        {"type": "custom", "customType": "ohm-subagents", "data": {"n": 1}},
    )


def test_it_remembers_a_place_that_it_is_given_and_has_a_screen_unless_told_otherwise() -> None:
    host = MemoryHost()
    host.set_widget("a", ["one"], placement="belowEditor")
    assert host.calls == [("set_widget", "a", ("one",), "belowEditor")]
    assert host.has_ui()
    assert not MemoryHost(has_ui=False).has_ui()
