"""Seats for agents outside of Ostrom: an MCP server through which they play."""
