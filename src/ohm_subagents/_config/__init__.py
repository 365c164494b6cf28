"""The configuration: its layers, their fold, and the trust in a project. It knows no task and no backend.

`load.load_config` reads the layers, `schema.OhmConfig` has the fields. What a project may do with a field, say only
lower it, is a policy of `merge`, as `merge.ONLY_LOWER`, named at the field; `fold.Folded` applies it. `trust.Trust`
says which projects the user trusts, `rules.read_rules` and `tool_lists.read_tools` read the permissions of one file,
`permissions.merge` and `tool_rules.merge_tools` join those of all, `env.environment` reads the variables.
"""
