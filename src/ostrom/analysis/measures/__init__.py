"""The catalogue of measures, one file each (constant ``MEASURE``); found by name in ``ostrom.analysis.measure``."""
