"""A plugin that cannot be imported: what it needs is not installed."""

import a_dependency_that_nobody_installed  # noqa: F401  the point of this distribution
