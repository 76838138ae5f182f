"""Conformance checks for parts of your own, and a loopback server that fails on demand.

A check takes a name or an object and raises with a clear message if the part breaks its contract::

    from ostrom.testing import check_game
    check_game("snowdrift")
    check_game(my_package.my_game.build)
"""

from ostrom.models.check import check_model
from ostrom.testing.check_game import check_game
from ostrom.testing.check_measure import check_measure
from ostrom.testing.check_mechanism import check_mechanism
from ostrom.testing.check_memory import check_memory
from ostrom.testing.check_panel import check_chart, check_panel
from ostrom.testing.check_strategy import check_strategy

__all__ = [
    "check_chart",
    "check_game",
    "check_measure",
    "check_mechanism",
    "check_memory",
    "check_model",
    "check_panel",
    "check_strategy",
]
