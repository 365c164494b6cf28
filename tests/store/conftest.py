"""The server is started for the first test that asks for it, and ends with the tests."""

from postgres_server import database, server

__all__ = ["database", "server"]
