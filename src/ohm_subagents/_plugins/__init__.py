"""The interfaces that plugins implement (`backends`, `suites`, `stores`), the hooks that offer them, and their host.

Never a concrete suite or store. A backend's helpers belong to `backends` only if every backend may need them.
"""
