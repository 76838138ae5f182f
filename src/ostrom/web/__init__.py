"""The web server: participants' pages (`ostrom serve`) and the admin page; one process, no files of others."""
