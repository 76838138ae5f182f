"""Farmers along a river: an example of a package for Ostrom."""
