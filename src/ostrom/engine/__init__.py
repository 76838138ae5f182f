"""The engine: plays units of work with any model and journals every call, so that no reply is lost."""
