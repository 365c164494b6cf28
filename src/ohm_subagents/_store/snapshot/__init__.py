"""The documented JSON file of tasks as a store. It knows the other stores' interfaces only, as a plugin would."""
