"""The market."""
