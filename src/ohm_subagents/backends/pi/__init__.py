"""`pi` as a command-line agent: its flags, its streams, its files.

`backend.PiBackend` runs a request in a mode of `modes`; `flags.arguments` and `agent_flags.agent_flags` make the
command line, `config_dir.PiHome` the directory that the child sees; `reader.PiReader` reads the stream,
`failures.model_failure` its trouble, `process_pool.ProcessPool` keeps a process for a follow-up, and
`session.SessionFile` the conversation.
"""
