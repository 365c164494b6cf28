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


def plain_clones() -> Row:
    """A wait for a clone of many files that are in no repository, beside a copy by `cp`."""
    beside = "cp -a --reflink=auto"
    on = partial(Case, file="workspaces.py", unit="s", scale=1)
    first, later = ("until the first task works there", "until a later one does")
    return Row(
        name="plain-clones",
        title="An echo task with `isolation: clone` on 50,000 files, 1 GB, in no repository; where TMPDIR is",
        cases=(
            on(name=beside, function="copied"),
            *(
                on(
                    name=f"{git}: {when}",
                    function="waited_plainly",
                    arguments={"has_git": has_git, "is_first": is_first},
                    beside=beside,
                    target=3,
                )
                for git, has_git in (("with git", True), ("without git", False))
                for when, is_first in ((first, True), (later, False))
            ),
        ),
        repeats=3,
    )
