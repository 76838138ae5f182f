"""The pricing game."""
