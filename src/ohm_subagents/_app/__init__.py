"""The composition root: the only package that knows every concrete part. Wiring, no rules."""
