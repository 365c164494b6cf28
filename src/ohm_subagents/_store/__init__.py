"""The store in memory, and what all stores share; never a file. Only the door `store` and `_app` import this room."""
