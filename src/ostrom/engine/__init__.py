"""The engine: plays units of work with any model, and journals them so that no reply is lost."""
