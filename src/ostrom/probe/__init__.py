"""The fine-tuning probe: a corpus of reasoning traces, adapters trained on it, and what an adapter changed."""
