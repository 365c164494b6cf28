"""The interface of tools, suites, observers and embedding programs, and the tools that any subagent may get."""
