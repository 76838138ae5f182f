"""Population dynamics and ratings of agent types on the payoffs of a tournament (pure functions)."""
