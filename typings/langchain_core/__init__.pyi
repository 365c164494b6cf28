"""As much of langchain-core as its adapter uses: the package is not installed where types are checked."""
