"""A small process beside ours that outlives us, for when we are killed: it ends what our children have left."""

import logging
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final, Self

import anyio
from anyio.abc import Process

from ohm_subagents._interpreters.interpreter import has_interpreter, loader_environment
from ohm_subagents._records import dataclass
from ohm_subagents.shell.inheritance import with_default_signals

_SCRIPT: Final = Path(__file__).with_name("reaper_script.py")
_ISOLATED: Final = ("-I", "-S") if sys.platform == "linux" else ("-I",)  # elsewhere the script needs psutil
_PATIENCE_S: Final = 1.0
"""The time for its last look, less than what a run that is cancelled may take: all children are gone by then."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaper:
    """Waits for our end, which it sees by the pipe that only we hold, and is not marked itself."""

    process: Process
    pipe: int

    @classmethod
    async def start(cls, mark: str, grace_s: float, folder: Path) -> Self | None:
        """Start it, to remove `folder` too; None, with a line in the log, where it cannot be started."""
        if not has_interpreter():
            _tell_unguarded("there is no interpreter to run it")
            return None
        words = (sys.executable, *_ISOLATED, f"{_SCRIPT}", mark, f"{os.getpid()}", f"{grace_s}", f"{folder}")
        reading, writing = os.pipe()
        try:
            process = await anyio.open_process(
                with_default_signals(words),
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=loader_environment(),
                start_new_session=True,
            )
        except OSError as error:
            os.close(writing)
            _tell_unguarded(f"{error.strerror}")
            return None
        finally:
            os.close(reading)
        return cls(process=process, pipe=writing)

    async def dismiss(self) -> None:
        """Let it look once more, and go. A frozen one is killed: nothing is left to guard."""
        os.close(self.pipe)
        with anyio.move_on_after(_PATIENCE_S):
            await self.process.wait()
            return
        self.process.kill()
        await self.process.wait()


@cache
def _tell_unguarded(why: str) -> None:
    """Say once what is lost without it."""
    logger.warning("If this process is killed, its child processes may go on: the reaper cannot be started (%s).", why)
