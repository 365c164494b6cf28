"""`ohm serve`: the process that owns the tasks of other programs of its user, each through an `Ohm` of its own."""
