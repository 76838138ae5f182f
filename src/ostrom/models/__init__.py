"""Model clients, found by provider name."""
