"""The fixture that tests of `ostrom pilot` share with those of other commands."""

from tests.cli.conftest import ostrom

__all__ = ["ostrom"]
