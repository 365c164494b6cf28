"""Many files that git is to have, packed by all cores: git reads one after another, and compresses each."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents.workspaces import parts
from ohm_subagents.workspaces.git_index import note_facts
from ohm_subagents.workspaces.packing import pack_part, places_in
from ohm_subagents.workspaces.parts import by_parts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from ohm_subagents.workspaces.packing import Facts, Packed
    from ohm_subagents.workspaces.view import View

SETTLED_NS: Final = 2 * 10**9
"""The time within which a file may change twice and look the same: git notes seconds, and a kernel its ticks."""


async def packed_into(view: View, files: AbstractSet[bytes]) -> Mapping[bytes, Packed]:
    """Pack files into the objects of a view if they are many, and return those that are; the others git is to read.

    That is all of them if one cannot be packed: git then says why.
    """
    if len(files) < parts.SMALLEST_PART or view.source.object_format != "sha1":
        return {}
    scratch = view.directory / "packs"
    scratch.mkdir()
    paths = [os.fsdecode(path) for path in sorted(files)]
    packed = await by_parts(pack_part, f"{view.source.top}", f"{scratch}", paths)
    done = {os.fsencode(one[0]): one for one in packed}
    if await to_thread.run_sync(_are_there, view.source.top, files - done.keys()):
        return {}
    await to_thread.run_sync(place_packs, scratch, view.objects / "pack")
    return done


def _are_there(top: Path, paths: AbstractSet[bytes]) -> bool:
    return any(os.path.isfile(top / os.fsdecode(path)) for path in paths)


async def note_packed(view: View, packed: Mapping[bytes, Packed], since_ns: int) -> None:
    """Have the index of a view list files that were packed from a time on."""
    if not packed:
        return
    listed = b"".join(b"%o %s\t%s\0" % (mode, oid.encode(), path) for path, (_, mode, oid, _) in packed.items())
    await view.run("update-index", "-z", "--index-info", stdin=listed)
    known = {path: facts for path, (*_, facts) in packed.items() if is_settled(facts, since_ns)}
    await to_thread.run_sync(note_facts, known, view.directory / "index")


def is_settled(facts: Facts, since_ns: int) -> bool:
    """Return True for a file that leaves a trace if it has changed from a time on."""
    return max(facts[:2]) < since_ns - SETTLED_NS


def place_packs(scratch: Path, packs: Path) -> None:
    """Move packs that have anything new to where they are read, each before its index, named by what is in it."""
    packs.mkdir(parents=True, exist_ok=True)
    kept = {oid for index in packs.glob("*.idx") for oid in places_in(f"{index}")}
    for index in scratch.glob("*.idx"):
        if not kept.issuperset(places_in(f"{index}")):
            name = f"pack-{index.read_bytes()[-20:].hex()}"
            index.with_suffix(".pack").replace(packs / f"{name}.pack")
            index.replace(packs / f"{name}.idx")
