"""What one player did in one match beside what each candidate strategy would have done there, as counts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ostrom.analysis.statistics.samples import (
    BadSample,
    Floats,
    Ints,
    Numbers,
    binary,
    checked_option,
    label_codes,
    sample,
)

UNITS = ("match", "player")


@dataclass(frozen=True)
class PlayedMatch:
    """One player's moves in one match (1 = cooperate), and per candidate what it prescribes after the history
    that was really played: 0, 1, or a probability to cooperate."""

    match: Hashable
    player: Hashable
    moves: Numbers
    prescribed: Mapping[str, Numbers]


@dataclass(frozen=True)
class ChoiceTable:
    """How often each unit did what each candidate prescribes.

    counts[i, k, q] is the number of choices of unit i to which candidate k, playing without error, gives the
    probability chances[q]. With deterministic candidates, chances are 0 and 1: disagreements and agreements.
    """

    candidates: tuple[str, ...]
    chances: Floats
    counts: Floats
    cluster: Ints
    n_clusters: int
    unit: str
    resampled: str

    @property
    def n_units(self) -> int:
        """Number of strategies drawn: matches of a player, or players."""
        return len(self.counts)

    @property
    def n_choices(self) -> int:
        """Number of single moves."""
        return int(self.counts[:, 0, :].sum())

    def only(self, candidates: Sequence[str]) -> ChoiceTable:
        """The same choices with fewer candidates."""
        unknown = [name for name in candidates if name not in self.candidates]
        if unknown or not candidates:
            found = repr(unknown[0]) if unknown else "none"
            raise BadSample(f"candidates: {found} (known: {', '.join(self.candidates)})")
        if len(set(candidates)) < len(candidates):
            raise BadSample("candidates: the same strategy is named twice")
        index = [self.candidates.index(name) for name in candidates]
        return ChoiceTable(
            tuple(candidates),
            self.chances,
            self.counts[:, index, :],
            self.cluster,
            self.n_clusters,
            self.unit,
            self.resampled,
        )


def choice_table(played: Sequence[PlayedMatch], *, unit: str, resample: str) -> ChoiceTable:
    """Count agreements; `unit` says whether a strategy is held for a match or by a player for good."""
    checked_option("unit", unit, UNITS)
    checked_option("resample", resample, UNITS)
    if unit == "player" and resample == "match":
        raise BadSample("a player who keeps one strategy is resampled as a whole: use resample='player'")
    if not played:
        raise BadSample("strategy inference needs at least one match (found none)")
    names = tuple(played[0].prescribed)
    if not names:
        raise BadSample("strategy inference needs at least one candidate strategy")
    agreement = [_agreement(item, names) for item in played]
    # Rounded, so that probabilities equal up to the last digit are one chance.
    everything: Floats = np.concatenate(agreement, axis=1).round(12)
    chances, inverse = np.unique(everything, return_inverse=True)
    codes = inverse.reshape(len(names), -1)
    if unit == "match":
        keys: list[Hashable] = [(item.match, item.player) for item in played]
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise BadSample(f"match {twice[0]!r} of player {twice[1]!r} is given twice")  # type: ignore[index]
    else:
        keys = [item.player for item in played]
    unit_of, levels = label_codes(keys, len(played), unit)
    rows = np.repeat(unit_of, [part.shape[1] for part in agreement])
    counts = np.zeros((len(levels), len(names), chances.size))
    for k in range(len(names)):
        np.add.at(counts[:, k, :], (rows, codes[k]), 1.0)
    owners = [item.match if resample == "match" else item.player for item in played]
    owner_of, owner_levels = label_codes(owners, len(played), resample)
    cluster = np.zeros(len(levels), dtype=np.int64)
    cluster[unit_of] = owner_of
    return ChoiceTable(names, chances, counts, cluster, len(owner_levels), unit, resample)


def _agreement(item: PlayedMatch, names: tuple[str, ...]) -> Floats:
    """Probability that each candidate gives to each move really made, shape (candidates, rounds)."""
    where = f"match {item.match!r}, player {item.player!r}"
    moves = binary(item.moves, f"{where}: moves")
    if set(item.prescribed) != set(names):
        odd = sorted(set(item.prescribed) ^ set(names))
        raise BadSample(f"{where}: candidates differ between matches ({', '.join(odd)})")
    rows = []
    for name in names:
        cooperate = sample(item.prescribed[name], f"{where}: prescribed by {name}")
        if cooperate.size != moves.size:
            raise BadSample(f"{where}: {name} prescribes {cooperate.size} moves, {moves.size} were made")
        if cooperate.min() < 0 or cooperate.max() > 1:
            raise BadSample(f"{where}: {name} must prescribe probabilities between 0 and 1")
        rows.append(np.where(moves == 1.0, cooperate, 1.0 - cooperate))
    return np.stack(rows)
