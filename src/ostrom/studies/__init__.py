"""Studies: files that declare what is varied and played; the built-in ones replicate published work."""
