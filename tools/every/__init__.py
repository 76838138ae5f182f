"""Run every target of the Makefile that checks or measures, one after the other."""
