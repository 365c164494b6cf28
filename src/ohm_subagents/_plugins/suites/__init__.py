"""The interface of tools, suites, observers and embedding programs, and the tools that any subagent may get.

`interface.SuiteContext` is what a suite is built from, `tool.Tool` what it offers, `function_tool.tool` makes one of a
function; `finalization.finalize_tool` hands in an answer, `restraint.restrained` allows some actions of a tool only,
`embedding.Host` is the program around us.
"""
