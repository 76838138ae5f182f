"""The base package: errors, the registry of parts, files, YAML, random streams, the terminal, the version."""
