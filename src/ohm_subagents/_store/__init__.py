"""The store in memory, and what all stores share; never a file. Only the door `store` and `_app` import this room.

`opening.open_store` opens the chosen store, `memory.MemoryStore` is one, `retention.Retention` says which task goes,
`recovery.recovered` what becomes of a task whose process has died.
"""
