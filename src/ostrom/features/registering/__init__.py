"""Registrations: what will be played and tested, stated before anything is played."""
