"""The engine: plays units of work against any model and loses nothing."""
