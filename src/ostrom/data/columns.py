"""The columns of the three tables and their types: what an empty table looks like.

A run of scripted strategies makes no call, and a fresh run has no match. Parquet keeps no columns for a table
without rows, so what reads a run finds the columns here.
"""

from __future__ import annotations

from collections.abc import Mapping

from ostrom.data.tables import TYPES

HEAD = "run match unit seed game mechanism"
AGENT = "agent agent_id model strategy agent_memory agent_style"
MATCHES = (
    "state reason player seat role "
    + AGENT
    + " opponents rounds_played score expected_score cooperation complaints "
    "policies missed_decisions refusals facts"
)
DECISIONS = (
    "state step round player seat "
    + AGENT
    + " kind target answer action label options cooperative payoff expected "
    "probabilities p_cooperate reading invalid missed complaints note rationale copied"
)
CALLS = (
    "run match id step player part try at model params reply reasoning reasoning_kind finish tokens_in "
    "tokens_out tokens_cached tokens_reasoning usd logprobs version latency source error status"
)


def columns(
    table: str, factors: Mapping[str, type], more: Mapping[str, Mapping[str, type]] = {}
) -> dict[str, type]:
    """The columns of a table in order, with their types; ``more`` are those that people add.

    >>> list(columns("matches", {"history_length": int}))[4:8]
    ['game', 'mechanism', 'history_length', 'state']
    """
    own = more.get(table, {})
    if table == "visits":
        return dict(own)
    if table == "calls":
        names = CALLS.split()
    else:
        rest = {"matches": MATCHES, "decisions": DECISIONS}[table].split()
        names = list(dict.fromkeys([*HEAD.split(), *factors, *rest]))
    types = {**TYPES, **(factors if table != "calls" else {})}
    return {**{name: types.get(name, str) for name in names}, **own}
