"""The plugin contract and its host; never a concrete backend or suite."""
