"""The stores that ship, plugins like anybody's: each imports public doors and its own package, never a sibling."""
