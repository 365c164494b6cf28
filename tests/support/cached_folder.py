"""A folder of the cache of this checkout, such as that of an installed program."""

import fcntl
import shutil
from pathlib import Path
from tempfile import mkdtemp


def filled(place: Path, fill) -> Path:
    """Return the place, filled once: beside it, and renamed when it is whole. Who comes meanwhile waits."""
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.with_name(f".{place.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.is_dir():
                folder = Path(mkdtemp(dir=place.parent, prefix=f".{place.name}-"))
                try:
                    fill(folder)
                    folder.rename(place)
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
    return place
