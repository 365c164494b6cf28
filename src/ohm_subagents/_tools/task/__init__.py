"""The tool `task`: its arguments, description and suite."""
