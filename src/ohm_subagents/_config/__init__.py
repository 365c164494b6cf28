"""The configuration: its layers, their fold, and the trust in a project. It knows no task and no backend."""
