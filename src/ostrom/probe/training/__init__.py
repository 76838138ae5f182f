"""Training of adapters; needs ostrom[train]. torch and transformers are imported where they are used."""
