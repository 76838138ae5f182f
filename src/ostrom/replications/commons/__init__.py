"""Piatti et al. (2024), Cooperate or Collapse: harvesters of one stock that talk after every harvest."""
