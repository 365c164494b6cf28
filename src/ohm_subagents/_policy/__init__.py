"""Pure decisions over the configuration and a profile. They read no file.

`permissions.may_run` says whether a profile may run, `tools.denied_tools` who may deny a tool, `tools.resolve_tools`
which tools a profile has, `calls.judge_call` whether a call of one may go on, `allowance.run_limits` which limits hold;
`sources.explain_limits` says where they are from.
"""
