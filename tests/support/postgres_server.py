"""A PostgreSQL server for tests: on a Unix socket in a directory of its own, without a network, gone with the tests."""

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from store_laws import Stores

from ohm_postgres import ohm_stores
from ohm_postgres.link import VARIABLE
from ohm_subagents._store.opening import open_store
from ohm_subagents.store import RetentionPolicy, StoreRequest

SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "max_connections": "50",
    "shared_buffers": "16MB",
    "autovacuum": "off",
    "logging_collector": "off",
}


class NotInstalledError(Exception):
    """There is no PostgreSQL here."""


def binaries():
    """The directory of `initdb` and `pg_ctl`."""
    found = shutil.which("initdb")
    if found is None and shutil.which("pg_config"):
        done = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=True)
        found = shutil.which("initdb", path=done.stdout.strip())
    if found is None:
        raise NotInstalledError("no PostgreSQL server is installed: neither initdb nor pg_config is on PATH")
    return Path(found).resolve().parent


class Server:
    """A running server; `url` names a database of it."""

    def __init__(self, directory):
        self.directory = directory
        self._bin = binaries()
        self._as = ["runuser", "-u", user().pw_name, "--"] if os.getuid() == 0 else []
        self._schemas = 0

    def _run(self, *command):
        line = [*self._as, str(self._bin / command[0]), *command[1:]]
        log = self.directory / "commands.log"
        with log.open("ab") as output:  # a pipe would be inherited by the server, and never end
            done = subprocess.run(line, stdout=output, stderr=output, cwd=self.directory, check=False)
        assert done.returncode == 0, log.read_text()

    def make(self):
        self._run("initdb", "-D", f"{self.directory}/data", "-U", "ohm", "-A", "trust", "-E", "UTF8", "--no-sync")
        with (self.directory / "data" / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in SETTINGS.items())
            file.write(f"unix_socket_directories = '{self.directory}'\n")

    def start(self):
        self._run("pg_ctl", "start", "-w", "-D", f"{self.directory}/data", "-l", f"{self.directory}/server.log")

    def stop(self):
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", f"{self.directory}/data")

    @property
    def url(self):
        return f"postgresql://ohm:top-secret@/postgres?host={self.directory}"

    def schema(self):
        """The address of a schema that is new."""
        self._schemas += 1
        name = f"test_{os.getpid()}_{self._schemas}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.url}&options=-csearch_path%3D{name}"


def user():
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise NotInstalledError("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")


@contextmanager
def running_server():
    binaries()
    directory = Path(tempfile.mkdtemp(prefix="ohm-pg-", dir="/tmp"))  # the path of a socket must be short
    try:
        directory.chmod(0o777)
        if os.getuid() == 0:
            os.chown(directory, user().pw_uid, user().pw_gid)
        server = Server(directory)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def server():
    """The server of the tests; they are skipped where none is installed, unless `CI` is set."""
    try:
        with running_server() as running:
            yield running
    except NotInstalledError as exc:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(exc))


class PostgresStores(Stores):
    """The store in a schema of its own."""

    def __init__(self, directory, url):
        super().__init__("postgres", directory)
        self.url = url
        self.place = ""

    def opened(self, **policy):
        return self.opened_by(RetentionPolicy(**policy))

    def opened_by(self, policy, **options):
        request = StoreRequest(
            directory=self.directory, clock=self.clock, policy=policy, env={VARIABLE: self.url}, **options
        )
        return open_store("postgres", {spec.id: spec for spec in ohm_stores()}, request, origin="default")


@pytest.fixture
def database(server, tmp_path):
    """The store `postgres` in an empty schema."""
    return PostgresStores(tmp_path / "registry", server.schema())
