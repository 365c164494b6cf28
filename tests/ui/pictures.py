"""Make the pictures of the page of `ohm ui` in docs/guides/ui: a desktop and a phone, in light and dark.

PYTHONPATH=tests/support .venv/bin/python tests/ui/pictures.py

Needs `uv sync --all-packages --group browser`, Debian's Chromium, and pngquant, which leaves 256 colours of each.
"""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import shown_tasks
from browsers import DESKTOP, PHONE, browser, opened, page_server
from forking import forked

FOLDER = Path(__file__).parents[2] / "docs" / "guides" / "ui"
CHILD = "_003"
PICTURES = [
    ("list", "/", DESKTOP, "light"),
    ("task", "/tasks/{start}", DESKTOP, "light"),
    ("task-dark", "/tasks/{start}" + CHILD, DESKTOP, "dark"),
    ("cost-dark", "/cost?by=model", {**DESKTOP, "height": 400}, "dark"),
    ("list-phone", "/", PHONE, "light"),
    ("task-phone-dark", "/tasks/{start}" + CHILD, PHONE, "dark"),
]


def main():
    FOLDER.mkdir(exist_ok=True)
    with (
        TemporaryDirectory() as home,
        browser() as chromium,
        forked(shown_tasks.__file__, home, "12", "150") as keeper,
        page_server(home) as address,
    ):
        start = keeper.stdout.readline().strip()
        for name, path, size, scheme in PICTURES:
            page = opened(chromium, address, viewport=size, color_scheme=scheme, reduced_motion="reduce")
            page.goto(address.split("/?")[0] + path.format(start=start))
            page.locator(".row, tbody tr").first.wait_for()
            page.get_by_text("live", exact=True).wait_for()
            page.wait_for_load_state("load")
            file = FOLDER / f"{name}.png"
            page.screenshot(path=file)
            page.context.close()
            subprocess.run(["pngquant", "--force", "--ext", ".png", "--strip", "--", f"{file}"], check=True)


if __name__ == "__main__":
    main()
