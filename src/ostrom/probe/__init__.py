"""The fine-tuning probe: a corpus of reasoning traces, adapters trained on it, and their side effects."""
