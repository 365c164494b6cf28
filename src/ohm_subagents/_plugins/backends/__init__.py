"""The interface of backends and models, and the wrappers that give each backend what it lacks. Never a concrete one.

`interface` has what plugins offer, `request` what a run gets; `model_choice.ModelChoice` chooses a model where nothing
names one, `agent_options` applies the options of an agent profile.
"""
