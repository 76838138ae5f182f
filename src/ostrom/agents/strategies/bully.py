"""The name of reverse tit for tat in the Axelrod library."""

from __future__ import annotations

from ostrom.agents.strategies.reverse_tit_for_tat import ReverseTitForTat

STRATEGY = ReverseTitForTat
