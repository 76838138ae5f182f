"""The released tournament files of CoopEval: payoff files of matches between agents, and what they are about."""
