"""The `interactive-sdk` backend. Importing this loads neither pydantic_ai nor a provider's SDK."""
