"""Guests: the backends that come with us. They import public doors, `contract` and their own package only."""
