"""The panels that only this paper has."""
