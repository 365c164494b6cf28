"""Keyword search: the index over a tree, the tool `code_search`, and the model `local/search` that speaks for it."""
