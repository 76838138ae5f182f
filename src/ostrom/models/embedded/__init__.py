"""A small real model that runs inside this process: weights fetched as data, no key, no server."""
