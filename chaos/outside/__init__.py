"""A second implementation of both batch endpoints, after the published references; it shares no code with the package.

It refuses every request that the references do not allow, counts what it bills by content and identifier, and fails a
given share of all exchanges, batches and readings in ways that networks and services do.
"""
