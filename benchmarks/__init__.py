"""Benchmarks: everything in one run, as ratios wherever there is something to compare with."""
