"""Runs on the machines of a Ray cluster, as the backend `ray`."""

from ohm_ray.hooks import ohm_backends

__all__ = ["ohm_backends"]
