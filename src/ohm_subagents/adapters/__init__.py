"""The tools of an `Ohm` for agents of other frameworks: a module each, which imports doors and that framework only."""
