"""Shared parts of both web servers: sockets, security, login, tokens, static files and templates."""
