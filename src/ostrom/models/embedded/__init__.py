"""A small model that runs inside this process: weights are downloaded as data; no key, no server."""
