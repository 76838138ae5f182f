"""What both servers need: sockets, security, login, signed tokens, static files, templates and words of pages."""
