"""Agents that speak the Agent Client Protocol, as backends of the type `acp`."""

from ohm_acp.hooks import ohm_backend_types

__all__ = ["ohm_backend_types"]
