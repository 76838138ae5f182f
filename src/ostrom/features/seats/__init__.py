"""Seats for external agents, which play through an MCP server."""
