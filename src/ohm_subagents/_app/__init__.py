"""The composition root: the only package that knows every concrete part. Wiring, no rules.

`delegation.Delegation` has the calls of an `Ohm`, `assembly.assemble` reads what needs no event loop, `engine.Engine`
wires the rest, `mounting.mount_all` chooses the suites. A start goes to `_orchestrator`, a call of a tool to `_tools`.
"""
