"""Any player of the Axelrod library, by its class name."""

from __future__ import annotations

from ostrom.agents.axelrod_player import AxelrodPlayer

STRATEGY = AxelrodPlayer
