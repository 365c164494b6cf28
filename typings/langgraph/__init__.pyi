"""As much of langgraph as its adapter uses: the package is not installed where types are checked."""
