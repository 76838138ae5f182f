"""Identical replicates: matches that went the same way because nothing in them could differ.

At temperature 0 (or with a fixed seed of the call), where nothing else is drawn, matches of a cell with the same
decisions are one match. So are matches whose replies of 20 tokens and more are the same letter by letter. Equal short
replies at a temperature above 0 are evidence and count.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ostrom.analysis.determinism import draws_anything
from ostrom.data.rundata import RunData
from ostrom.engine.plan import Unit
from ostrom.ground.errors import OstromError

LONG = 20
"""The number of tokens from which equal replies are no coincidence."""


def repeats_itself(unit: Unit) -> bool:
    """Return whether a match with models would be the same with any seed, by its settings."""
    models = [player.config for player in unit.players if player.config.model is not None]
    return (
        bool(models)
        and all(config.params.get("temperature") == 0 or "seed" in config.params for config in models)
        and not draws_anything(unit)
    )


def planned_repeats(units: Iterable[Unit], seeds: int) -> str:
    """Return a warning on cells whose seeds would repeat one match; empty if there are none."""
    keys = {unit.key: unit for unit in units if unit.kind == "match"}
    many = sum(map(repeats_itself, keys.values())) if seeds > 1 else 0
    return (
        f"{many} of {len(keys)} kinds of matches play at temperature 0 (or with a fixed seed) and draw nothing: "
        f"{seeds} seeds may repeat one match each, which then counts once"
        if many else ""
    )  # fmt: skip


def twins(unit_of: Callable[[int], Unit], moves: Mapping[int, Any], replies: Mapping[int, Any]) -> dict[int, int]:
    """Map every match of a group that went the same way to the first of them; single matches are left out."""
    fixed: dict[str, bool] = {}
    groups: dict[tuple[Any, ...], list[int]] = {}
    for match in sorted(moves):
        unit = unit_of(match)
        if unit.kind != "match" or all(player.config.model is None for player in unit.players):
            continue
        if unit.key not in fixed:
            fixed[unit.key] = repeats_itself(unit)
        if fixed[unit.key]:
            groups.setdefault((unit.key, moves[match]), []).append(match)
        elif replies.get(match) is not None:
            groups.setdefault((unit.key, moves[match], replies[match]), []).append(match)
    return {match: of[0] for of in groups.values() if len(of) > 1 for match in of}


def twins_in(run: RunData) -> dict[int, int]:
    """Map the matches of a run that are no independent replicates to the first like them."""
    if run.twins is None:
        run.twins = _twins_in(run)
    return run.twins


def _twins_in(run: RunData) -> dict[int, int]:
    try:
        run.unit(0)
        if not run.records(
            "SELECT 1 FROM matches WHERE model IS NOT NULL AND state = 'done' HAVING count(DISTINCT seed) > 1"
        ):
            return {}
        replies = run.records(
            "SELECT match, md5(string_agg(reply, chr(10) ORDER BY step, player, id)) AS key FROM calls "
            f"WHERE error IS NULL GROUP BY match HAVING min(tokens_out) >= {LONG}"
        )
        said = {row["match"]: row["key"] for row in replies}
        done = [row["match"] for row in run.records("SELECT DISTINCT match FROM matches WHERE state = 'done'")]
        # The table of decisions is large: it is made only where something else already says that matches may be alike.
        alike = twins(run.unit, dict.fromkeys(done), said)
        moves = run.records(
            "SELECT match, md5(string_agg(concat_ws('/', step, player, answer, action), ';' ORDER BY step, player)) "
            "AS key FROM decisions GROUP BY match"
        ) if alike else []  # fmt: skip
        return twins(run.unit, {row["match"]: row["key"] for row in moves if row["match"] in alike}, said)
    except OstromError:  # tables without a study, or without calls
        return {}


def distinct_words(matches: Iterable[int], same: Mapping[int, int]) -> str:
    """Say how many of some matches are distinct; empty if all are."""
    every = list(matches)
    distinct = len({same.get(match, match) for match in every})
    return f"{len(every)} matches, {distinct} distinct" if distinct < len(every) else ""
