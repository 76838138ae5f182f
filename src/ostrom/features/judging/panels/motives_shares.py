"""Which motives the reasoning shows: a heat map per factor, with tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.features.judging.judgements import JudgedCorpus, judged_corpora
from ostrom.features.judging.shares import FACTORS, NONE, MotiveShare, dependences, motive_shares
from ostrom.reports.maps import tiles
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import labels, pretty

NOT_JUDGED = "The reasoning of this run has not been judged: `ostrom judge {} --model MODEL` does it."


class MotiveShares(Panel):
    """Shares of motives by mechanism, model and game, as the first judge of every judged corpus sees them."""

    title = "Motives"

    def __init__(self, by: Sequence[str] = FACTORS) -> None:
        self.by = (by,) if isinstance(by, str) else tuple(by)

    def draw(self, data: RunData) -> Drawn:
        """A map per corpus and factor with more than one level; with none, one map of all."""
        corpora = judged_corpora(data.folder)
        if not corpora:
            return Drawn(notes=[NOT_JUDGED.format(data.name)])
        figures, tables, notes = [], [], []
        for corpus in corpora:
            notes += corpus_notes(corpus)
            if not corpus.judged(corpus.judges[0]):
                continue
            several = [f for f in self.by if len({row.get(f) for row in corpus.judged()}) > 1]
            for factor in several or self.by[:1]:
                shares = motive_shares(corpus, factor)
                figures.append(_figure(corpus, factor, shares))
                tables += _tables(corpus, factor, shares)
        return Drawn(figures, tables, notes)


def corpus_notes(corpus: JudgedCorpus) -> list[str]:
    """What has to be known about a corpus before its shares are read."""
    judged = corpus.judged()
    notes = [f"{corpus.name}: {len(judged)} judgements by {' and '.join(corpus.judges)}."]
    if corpus.failed:
        notes.append(
            f"{corpus.name}: {corpus.failed} judgements have no labels; judging again asks for them."
        )
    if corpus.self_judged:
        notes.append(
            f"{corpus.name}: {corpus.self_judged} of {len(judged)} judgements are by the model that played."
        )
    return notes


def _figure(corpus: JudgedCorpus, factor: str, shares: list[MotiveShare]) -> Figure:
    titles = {**{motive.name: motive.title for motive in corpus.motives}, NONE: "(none of them)"}
    names = labels(share.level for share in shares)
    rows = [{"x": names[s.level], "y": titles[s.motive], "value": s.share} for s in shares]
    chart = tiles(
        rows, across=list(names.values()), down=list(titles.values()), legend="share of decisions",
        domain=(0.0, 1.0), percent=True,
    )  # fmt: skip
    counts = {s.level: s.decisions for s in shares}
    listed = ", ".join(f"{pretty(level)} {count}" for level, count in counts.items())
    return Figure(
        f"motives_{factor}",
        chart,
        f"Share of judged decisions that show a motive, by {pretty(factor)} (decisions: {listed}), "
        f"as {shares[0].judge} sees them.",
        f"Heat map of motives by {pretty(factor)}.",
    )


def _tables(corpus: JudgedCorpus, factor: str, shares: list[MotiveShare]) -> list[Table]:
    keys = [
        "judge",
        "level",
        "motive",
        "share",
        "low",
        "high",
        "times",
        "decisions",
        "matches",
        "method",
        "note",
    ]
    tests: list[dict[str, Any]] = [found.as_dict() for found in dependences(corpus, factor)]
    return [
        Table(
            f"motives_{factor}", keys, [[s.as_dict()[key] for key in keys] for s in shares],
            f"Motives by {pretty(factor)} with 95 % intervals over matches.",
        ),
        Table(
            f"motives_{factor}_tests", list(tests[0]), [list(test.values()) for test in tests],
            f"Does a motive depend on the {pretty(factor)}? Chi-square with Cramer's V, p-values after Holm; "
            "decisions count as independent, which those of one match are not.",
        ),
    ]  # fmt: skip


PANEL = MotiveShares
