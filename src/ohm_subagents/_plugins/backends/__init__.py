"""The interface of backends and models, and the wrappers that give each backend what it lacks. Never a concrete one."""
