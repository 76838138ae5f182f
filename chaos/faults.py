"""A server that fails one call in twenty, in five, in two: the study completes, every failure is journaled."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from chaos.finding import Finding, verdict
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import RetryPolicy
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing.faults import KINDS, Faults
from ostrom.testing.server import LoopbackServer

RATES = {0.05: 16, 0.20: 6, 0.50: 4}
"""Share of calls that fail, and how many replicates it takes to meet every kind of fault."""
WAYS = tuple(kind for kind in KINDS if kind != "refused_key")  # a wrong key ends a run, as it should
HARMLESS = frozenset({"drip"})
UNREADABLE = frozenset({"cut_reply", "empty"})


def run(short: bool, seed: int) -> list[Finding]:
    """Each rate once."""
    return [fail(rate, seeds if not short else max(1, seeds // 4), seed) for rate, seeds in RATES.items()]


def fail(rate: float, seeds: int, seed: int) -> Finding:
    """Play against a server with this share of faults, spread over all kinds."""
    faults = Faults({way: rate / len(WAYS) for way in WAYS}, seed=seed, retry_after="0.05")
    check = f"{rate:.0%} faults: completes, every failure in the journal"
    with LoopbackServer(faults=faults) as server, tempfile.TemporaryDirectory() as runs:
        study = load_study(
            {
                "name": "faults",
                "game": "prisoners_dilemma",
                "mechanism": {"name": "repetition", "rounds": 15},
                "agent": {"style": "direct", "settings": {"timeout": 3.0}},
                "types": {"model": {"model": server.model}, "tft": "tit_for_tat"},
                "seating": "ordered",
                "seeds": seeds,
                "invalid": {"retries": 50, "policy": "fail"},
            }
        )
        options = PlayOptions(retry=RetryPolicy(tries=60, first=0.001, longest=0.05))
        result = play(study, runs=runs, options=options)
        served, met = server.count, server.fault_counts
        with open_run(Path(runs) / "faults") as opened:
            calls = list(opened.rows.calls())
            decisions = [row for row in opened.rows.decisions() if row["agent"] == "model"]
    errors = Counter(call["error"].partition(":")[0] for call in calls if call["error"] is not None)
    expected = sum(count for way, count in met.items() if way not in HARMLESS | UNREADABLE)
    unread = sum(row["complaints"] for row in decisions)
    wanted = sum(met[way] for way in UNREADABLE)
    # A machine under load may let a good reply time out: that is one more failure in the journal, not one less.
    held = (
        bool(met)
        and result.complete
        and len(calls) == served
        and sum(errors.values()) >= expected
        and abs(unread - wanted) <= errors.total() - expected
        and len(decisions) == 4 * 15 * seeds
    )
    note = (
        f"{len(decisions)} decisions, {served} tries served and {len(calls)} journaled, "
        f"{errors.total()} failed tries of {expected} faults, {unread} unreadable replies of {wanted}"
    )
    return verdict("faults", check, sum(met.values()), held, note)
