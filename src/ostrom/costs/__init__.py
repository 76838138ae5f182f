"""Costs of a study before play: rehearsal, forecast, and batteries sized to a budget."""
