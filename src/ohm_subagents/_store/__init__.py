"""The store in memory, and what all stores share; of files only what `/proc` says of processes.

The engine and `_app` use this room, and stores by the door `store`.

`opening.open_store` opens the chosen store, `memory.MemoryStore` is one, `retention.Retention` says which task goes,
`recovery.recovered` what becomes of a task whose process has died.
"""
