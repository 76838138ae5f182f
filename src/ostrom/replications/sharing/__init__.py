"""Dividing, offering and entrusting: dictator, ultimatum and trust games beside meta-analyses of people."""
