"""Command-line agents as backends `claude`, `codex`, `opencode`, `gemini` and `qwen`."""

from ohm_backend_cli.hooks import ohm_backends

__all__ = ["ohm_backends"]
