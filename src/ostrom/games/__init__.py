"""Games: payoffs, catalog, equilibria, descriptions. Pure."""
