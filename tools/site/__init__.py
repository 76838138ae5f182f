"""The documentation site, built offline: pages, a reference from docstrings, and a gallery of real reports."""
