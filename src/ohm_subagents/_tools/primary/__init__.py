"""Direct tools: one for each profile marked `primary`, made of its `inputs`."""
