"""The version of the package, and the platform that it does not support."""

__version__ = "2.0.0"

NO_WINDOWS = "ostrom does not run on Windows (locks and signals of runs need POSIX): use it inside WSL 2"
