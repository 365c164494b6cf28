"""One run of a task, from its prompt to its outcome: driving, watching, spending, recording. Commands stay outside."""
