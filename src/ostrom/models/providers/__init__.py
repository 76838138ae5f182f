"""One file per provider: ``PROVIDER(model, **settings)`` opens a model. Found by file name or entry point."""
