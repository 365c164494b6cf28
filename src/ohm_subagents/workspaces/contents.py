"""The contents of files that are kept without git, each once, in packs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from ohm_subagents.workspaces.packed_files import place_packs
from ohm_subagents.workspaces.packing import pack_part, places_in, read_packed
from ohm_subagents.workspaces.parts import by_parts
from ohm_subagents.workspaces.places import make_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.workspaces.packing import Packed


class Contents:
    """Keeps contents in a directory, and finds them by their ids. Other processes may add some."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._looked_into = set[Path]()
        self._places = dict[str, tuple[str, int]]()
        make_directory(directory)

    async def add(self, top: Path, paths: list[str], scratch: Path) -> list[Packed]:
        """Keep what is in files below `top`, and return those that were there. `scratch` is private, and empty."""
        packed = await by_parts(pack_part, f"{top}", f"{scratch}", paths)
        left = [*{*paths} - {path for path, *_ in packed}]  # they are gone, or a process has failed
        packed += await to_thread.run_sync(pack_part, f"{top}", f"{scratch}", left)
        await to_thread.run_sync(place_packs, scratch, self._directory)
        return packed

    def has(self, oid: str) -> bool:
        """Return True if a content is kept."""
        if oid not in self._places:
            self._look()
        return oid in self._places

    def chunks(self, oid: str) -> Iterator[bytes]:
        """Return a content that is kept, in chunks."""
        return read_packed(*self._places[oid])

    def size(self) -> int:
        """Return the bytes that all take."""
        return sum(one.stat().st_size for one in self._directory.iterdir())

    def clear(self) -> None:
        """Remove all."""
        shutil.rmtree(self._directory, ignore_errors=True)
        make_directory(self._directory)
        self._looked_into.clear()
        self._places.clear()

    def _look(self) -> None:
        for index in {*self._directory.glob("*.idx")} - self._looked_into:
            self._looked_into.add(index)
            pack = f"{index.with_suffix('.pack')}"
            self._places |= {oid: (pack, at) for oid, at in places_in(f"{index}").items()}
