"""Servers of local models that Ostrom starts and stops: vLLM, `transformers serve`, llama-server."""
