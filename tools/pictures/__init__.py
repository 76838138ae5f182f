"""`make pictures`: the pictures of README and docs, made anew from this version."""
