"""The styles in which a model is asked for an answer, one file each."""
