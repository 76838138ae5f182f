"""How many seeds a study needs."""
