"""Runs the command line: ``python -m ostrom``."""

from ostrom.cli import main

if __name__ == "__main__":
    main()
