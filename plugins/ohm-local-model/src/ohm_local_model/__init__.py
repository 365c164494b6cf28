"""GGUF files as provider `gguf`."""
