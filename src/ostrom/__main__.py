"""``python -m ostrom`` is the command line."""

from ostrom.cli import main

if __name__ == "__main__":
    main()
