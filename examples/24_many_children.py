"""Two hundred children look at a file each, and one more makes a report of what they found.

Needs no key and no network: the backend `none` echoes what it is asked. On a Ray cluster it is the same program with
`BACKEND = "ray"`, after `pip install 'ohm-subagents[ray]'` (in a clone, `pip install . './plugins/ohm-ray[ray]'`);
"address": "local" instead of "auto" starts a small one.
The tasks are kept in memory: so many would push older ones out of your store.
"""

from pathlib import Path

import anyio

import ohm_subagents
from ohm_subagents import Err, Ohm, OhmError, Ok

BACKEND = "none"
RAY = {"address": "auto", "runners": 2, "run": "none", "pool": "echo"}
CONFIG = {"subagentBackend": BACKEND, "subagents": {"store": "memory", "backends": {"ray": RAY}}}
FILES = {file: file.read_text() for file in sorted(Path(ohm_subagents.__file__).parent.rglob("*.py"))[:200]}


async def main() -> None:
    found: dict[Path, str] = {}
    lost: dict[Path, OhmError] = {}
    async with Ohm.open(config=CONFIG) as ohm:

        async def look(file: Path, text: str) -> None:
            match await ohm.run("finder", f"Which names does this file define?\n\n{text}"):
                case Ok(envelope):
                    found[file] = envelope.output or ""
                case Err(error):
                    lost[file] = error

        async with anyio.create_task_group() as children:
            for file, text in FILES.items():
                children.start_soon(look, file, text)
        if lost:
            print(f"{len(lost)} of {len(FILES)} files were not looked at: {next(iter(lost.values()))}")
            return
        reports = "\n".join(found[file] for file in FILES)
        report = (await ohm.run("librarian", f"Make one report of {len(found)} findings.\n\n{reports}")).unwrap()
    print((report.output or "").splitlines()[2])


anyio.run(main)

# Prints:
# prompt: Make one report of 200 findings.
