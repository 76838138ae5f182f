"""The name of grim trigger in the Axelrod library."""

from __future__ import annotations

from ostrom.agents.strategies.grim import Grim

STRATEGY = Grim
