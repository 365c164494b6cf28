"""The interface of backends and models, and the wrappers that give each backend what it lacks. Never a concrete one.

`interface` has what plugins offer, `request` what a run gets; `pool.BackendPool` opens backends and keeps them,
`fallback.with_fallback` hands over to `pi` what the SDK cannot begin, `model_choice.ModelChoice` chooses a model where
nothing names one, `options.validated` checks options, `agent_options` applies the options of an agent profile,
`provider_failures.provider_failure` says what a provider's words mean.
"""
