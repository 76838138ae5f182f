"""The measures that only this paper has."""
