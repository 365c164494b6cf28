"""The stores that ship, each a plugin that imports public doors and its own package, never a sibling."""
