"""The words of the parts, as text files."""
