"""The time until a browser shows the page of `ohm ui`: `python tests/benchmarks/first_paint.py`.

It opens the list of 10,000 tasks, and the tree of a start with 200 children, in Debian's Chromium without a window: as
the first page of a server that has just said its address, and again. It fails where a target is missed. Each page is
opened in a context of its own, with nothing in its cache; the time is the browser's, from the beginning of the
navigation. A machine that is busy makes it longer: the load is printed first.
"""

import os
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import shown_tasks
from browsers import browser, opened, page_server
from forking import forked
from spread import interval, number, verdict

TASKS, CHILDREN, SERVERS, TURNS = 10_000, 200, 5, 3
TARGET_MS = 500
ROWS = "[role=listitem], [role=treeitem]"
WATCH = f"""
globalThis.rowsPainted = new Promise((painted) => (function look() {{
  if (!document.querySelector("{ROWS}")) requestAnimationFrame(look);
  else requestAnimationFrame(() => setTimeout(() => painted(performance.now())));
}})());
"""
"""The frame that has the first row is over when a task that it has set runs."""


def timed(chromium, address, path):
    """The milliseconds until something is painted, and until the first rows are."""
    page = opened(chromium, "about:blank")
    page.context.add_init_script(WATCH)
    site, _, token = address.partition("/?")
    page.goto(f"{site}{path}?{token}")
    rows = page.evaluate("rowsPainted")
    first = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    page.context.close()
    return first, rows


def told(what, values, *, most=None):
    low, high = interval(values)
    judged = "" if most is None else f"at most {most} ms: {verdict(values, most)}"
    sys.stdout.write(f"{what:<80} {number(median(values)):>5} ms  ({number(low)} to {number(high)})  {judged}\n")
    return most is None or median(values) <= most


def main():
    sys.stdout.write(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    is_met = True
    with (
        tempfile.TemporaryDirectory() as home,
        forked(shown_tasks.__file__, home, f"{CHILDREN}", f"{TASKS - CHILDREN - 1}") as keeper,
    ):
        start = keeper.stdout.readline().strip()
        with browser() as chromium:
            for what, path in ((f"{TASKS:,} tasks", "/"), (f"a tree of {CHILDREN} children", f"/tasks/{start}")):
                first, later = [], []
                for _ in range(SERVERS):
                    with page_server(home) as address:
                        first.append(timed(chromium, address, path))
                        later += [timed(chromium, address, path) for _ in range(TURNS)]
                for which, found in (("the first page of a server", first), ("a page", later)):
                    painted, rows = zip(*found, strict=True)
                    is_met &= told(f"{what}, {which}: the first paint", painted, most=TARGET_MS)
                    is_met &= told(f"{what}, {which}: the first rows", rows, most=TARGET_MS)
    sys.exit(0 if is_met else "missed")


if __name__ == "__main__":
    main()
