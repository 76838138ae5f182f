"""Whether a calculator, a notebook or a look at the past changes cooperation."""
