"""Populations of instructions over generations."""
