"""The styles of asking a model, one file each."""
