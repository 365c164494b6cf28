"""The stores that are built in, and what they share. Only the `store` door and the wiring in `_app` name this room."""
