"""The command line of bubblewrap: namespaces of its own, and a tree of files of what it may see."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents.sandbox.machine import NAMESPACES
from ohm_subagents.sandbox.system import hidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_OF_THE_KERNEL: Final = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
"""Settings of the whole machine, which root may change whatever its namespace is."""
_OF_GIT: Final = ("hooks", "config")
"""Files of a repository that name programs: git runs them for the next one who uses it, outside of the box."""


class Reach(NamedTuple):
    """The files and the network of a command; a path of `writes` comes over one of `reads`."""

    homes: Sequence[str]
    reads: Sequence[str]
    copies: Sequence[str]
    writes: Sequence[str]
    is_online: bool


def bubblewrapped(
    program: str, command: Sequence[str], reach: Reach, *, cwd: Path, dies_with_us: bool
) -> tuple[str, ...]:
    """Return the command in namespaces of its own, by this program of bubblewrap."""
    return (
        *(program, *NAMESPACES),
        *(() if reach.is_online else ("--unshare-net",)),
        *(("--die-with-parent",) if dies_with_us else ()),
        *("--proc", "/proc", *_bound("--ro-bind-try", _OF_THE_KERNEL)),
        *("--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/var/tmp"),  # noqa: S108  its own
        *(one for home in reach.homes for one in ("--tmpfs", home)),
        *_tree(reach.reads, reach.copies, reach.writes),
        *("--remount-ro", "/", "--chdir", f"{cwd}", "--", *command),
    )


def _tree(reads: Iterable[str], copies: Iterable[str], writes: Iterable[str]) -> Iterator[str]:
    """Yield the mounts, those above others first."""
    tree = {**dict.fromkeys(reads, "--ro-bind-try"), **dict.fromkeys(writes, "--bind-try")}
    for path, option in sorted(tree.items(), key=lambda one: Path(one[0]).parts):
        if Path(path).is_symlink() and option == "--ro-bind-try" and len(Path(path).parts) == 2:
            yield from ("--symlink", f"{Path(path).readlink()}", path)
        elif path in copies and option == "--ro-bind-try":
            yield from ("--overlay-src", path, "--tmp-overlay", path) if os.path.isdir(path) else ()
        else:
            yield from (option, path, path)
    for path in hidden():
        yield from ("--tmpfs", path) if os.path.isdir(path) else ("--ro-bind", "/dev/null", path)
    for path in writes:
        yield from _guarded(Path(path, ".git"))


def _guarded(repository: Path) -> Iterator[str]:
    """Keep what names programs in a repository; a mount on the repository itself keeps it from being moved away."""
    if repository.is_symlink() or not os.path.isdir(repository):
        return
    yield from ("--bind", f"{repository}", f"{repository}")
    if not os.path.lexists(repository / "hooks"):
        yield from ("--tmpfs", f"{repository / 'hooks'}")
    yield from _bound("--ro-bind-try", (f"{repository / name}" for name in _OF_GIT))


def _bound(option: str, paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield from (option, path, path)
