"""The cost of a clone of the files for a task."""

from functools import partial

from measure import Case, Row


def clones() -> Row:
    """A task in a clone, beside one on the files themselves; and how long one waits for a clone of many files."""
    beside = "on the files of this repository"
    on = partial(Case, file="workspaces.py", unit="ms", scale=1e3)
    return Row(
        name="clones",
        title="An echo task with `isolation: clone`; what waits there is git, and below it the disk",
        cases=(
            on(name=beside, function="ran", arguments={"isolation": "none"}),
            on(name="in a clone of this repository", function="ran", beside=beside),
            on(
                name="in a clone of 50,000 files, 1 GB: until it works there",
                function="waited",
                unit="s",
                scale=1,
                target=3,
            ),
        ),
        repeats=3,
    )
