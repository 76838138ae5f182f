"""How often the intervals hold the truth, and how wide they are: `make coverage` writes docs/methods.md."""
