"""The catalogue of measures, declared in YAML files; found by name in ``ostrom.analysis.measure``."""
