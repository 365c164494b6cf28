"""GGUF files as provider `gguf`: a language model in this process, without a key or a network."""

from ohm_local_model.hooks import ohm_models

__all__ = ["ohm_models"]
