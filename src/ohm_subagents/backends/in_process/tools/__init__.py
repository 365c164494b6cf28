"""The file and shell tools of a subagent, one module each, and what they share; no agent, no model, no index."""
