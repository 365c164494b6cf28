"""The default store: a SQLite file that several processes share, with a log of events a task, and an index of them."""
