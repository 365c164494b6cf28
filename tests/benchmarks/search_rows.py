"""The row about `code_search`."""

from measure import Case, Row


def searches() -> Row:
    """200,000 lines of Python, read for the first time and asked again by a new process."""
    file = "code_search.py"
    read = {"file": file, "function": "reading"}
    return Row(
        name="search",
        title="`code_search` in 200,000 lines of Python, 400 files",
        cases=(
            Case(name="reads all: the event loop is late, p99", unit="ms", scale=1e3, target=20, **read),
            Case(name="reads all, then answers", unit="s", scale=1, arguments={"wanted": "seconds"}, **read),
            Case(name="nothing has changed: answers", file=file, function="asking_again", unit="ms", scale=1e3),
        ),
        repeats=3,
    )
