"""Inputs nobody meant to write: generators, what they are fed to, and a watch over each of them."""
