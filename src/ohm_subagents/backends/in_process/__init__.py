"""The `interactive-sdk` backend. Importing this loads neither pydantic_ai nor a provider's SDK.

`backend.InProcessBackend` runs a request, `models.ModelBook` opens models, `gated_model.GatedModel` asks the gate
before each request, `bridge.Bridge` reports what happens, `conversation.conversation_of` continues a session;
`toolset.child_toolset` has the tools of `tools`, `failures.failure` says what an exception means, and
`context_files.context_of` reads `AGENTS.md`.
"""
