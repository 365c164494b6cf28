"""The tools of a parent agent: `task`, the direct tools of primary profiles, and the parts that all suites share.

Never the tools of subagents, which live with their backend; never the engine, which a tool reaches by `Executor`.
"""
