"""Studies: what is varied over what, as files that people write. The built-in ones replicate published work."""
