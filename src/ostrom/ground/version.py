"""The version of the package, where every room can read it, and the one platform that it refuses."""

__version__ = "2.0.0"

NO_WINDOWS = "ostrom does not run on Windows (locks and signals of runs need POSIX): use it inside WSL 2"
