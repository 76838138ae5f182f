"""`ostrom view`: runs, matches and words in a browser."""
