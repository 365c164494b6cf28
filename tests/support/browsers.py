"""A real browser on the page of `ohm ui`, which runs in a process of its own.

with browser() as chromium, page_server(home) as address:
    page = opened(chromium, address)
"""

import importlib
import os
import shutil
import subprocess
from contextlib import contextmanager
from urllib.parse import urlsplit

from command_line import EXECUTABLE
from not_installed import not_installed
from real_agents import modules

from ohm_subagents.testing import HERMETIC

PATIENCE_MS = 60_000
DESKTOP = {"width": 1360, "height": 820}
PHONE = {"width": 390, "height": 800}
SWITCHES = ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"]  # as root, and in a container


@contextmanager
def browser():
    """Debian's Chromium, driven by playwright."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        not_installed("no Chromium is installed: apt-get install chromium")
    try:
        playwright = importlib.import_module("playwright.sync_api")
    except ImportError:
        not_installed("playwright is not installed: uv sync --all-packages --group browser")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=SWITCHES)
        try:
            yield chromium
        finally:
            chromium.close()


@contextmanager
def page_server(home, port=0, **variables):
    """`ohm ui` for the tasks of a home; yields the address that it prints first, with the token."""
    env = {**os.environ, **HERMETIC, "PI_CONFIG_DIR": f"{home}", "HOME": f"{home}", "OHM_SUBAGENTS_STORE": "sqlite"}
    env |= {"OHM_SUBAGENTS_TASK_MAX_ENTRIES": "50000", **variables}
    command = [EXECUTABLE, "ui", "--no-browser", "--port", f"{port}"]
    with subprocess.Popen(command, cwd=home, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.stdout.close()


def opened(chromium, address, **options):
    """A page at this address in a browser context of its own, of which every fault of a script is kept."""
    context = chromium.new_context(**{"viewport": DESKTOP, **options})
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(f"{error}"))
    page.on("console", lambda message: message.type == "error" and page.faults.append(message.text))
    page.goto(address)
    return page


def hurdles(page):
    """The rules of axe that a page breaks, each with the first place."""
    script = modules("axe-core", "4.14.1", "axe") / "axe-core" / "axe.min.js"
    if not script.exists():
        not_installed("axe-core could not be installed from npm")
    page.evaluate(script.read_text("utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return {one["id"]: one["nodes"][0]["html"] for one in found}


def port_of(address):
    return urlsplit(address).port
