"""Figures and remarks of the repeated games (Akata et al. 2025) that ``claims.yaml`` cannot declare."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ostrom.analysis.claims import DeclaredReference
from ostrom.analysis.measure import measures
from ostrom.analysis.references import Games, RunFigure
from ostrom.analysis.units import Observation, observations
from ostrom.data.rundata import RunData
from ostrom.ground.errors import OstromError
from ostrom.ground.values import grouped
from ostrom.replications.repeated_games.figures import VARIANTS, claims, contests, families, pairs, predictions
from ostrom.replications.repeated_games.moves import BOS, PD, decisions, matches

FACTOR = "prompting"
PLAIN = ("base", "direct")
NAMES_OF_PEOPLE = ("you", "human")
"""Names of people in imported rounds."""
BOTH = "both"
FIGURES = (
    ("bos_score", BOS, "payoff_by_round"),
    ("pd_score", PD, "payoff_by_round"),
    ("bos_coordination", BOS, "coordination_by_round"),
    ("pd_joint_cooperation", PD, "joint_cooperation_by_round"),
    ("guess_human", BOTH, "guessed_person"),
)
"""Published tests: name, game and measure."""


def people(data: RunData) -> tuple[list[RunFigure], list[str]]:
    """Return the figures of a run with people, and why one is missing; empty without people."""
    who = human_types(data)
    if not who:
        return [], []
    if FACTOR not in data.factors:
        return [], [f"Not compared: the experiment with people; the run has no factor {FACTOR}."]
    figures: list[RunFigure] = []
    why: list[str] = []
    for name, game, measure in FIGURES:
        try:
            figures += _figures(data, who, name, game, measure)
        except (OstromError, ValueError) as error:
            why.append(f"Not compared: {name.replace('_', ' ')} of the experiment with people: {error}")
    return figures, why


def human_types(data: RunData) -> set[str]:
    """The names of the types that are people, in the browser or in imported data."""
    if not data.rows.get("matches"):
        return set()
    return {
        seated.name
        for row in data.records(
            "SELECT min(match) AS m FROM matches WHERE unit = 'match' AND state = 'done' GROUP BY game"
        )
        for seated in data.unit(row["m"]).players
        if seated.config.kind == "person" or (seated.config.recorded is not None and seated.name in NAMES_OF_PEOPLE)
    }


def _figures(data: RunData, who: set[str], name: str, game: str, measure: str) -> Iterator[RunFigure]:
    part = measures.named(measure)
    theirs = name.endswith("_score")  # everything else belongs to the match, not to one player
    rows = [
        row
        for row in observations(data, part).rows
        if row[FACTOR] is not None and game in (BOTH, row["game"]) and (not theirs or row["agent"] in who)
    ]
    levels = sorted({str(row[FACTOR]) for row in rows}, key=lambda level: (level.lower() not in PLAIN, level))
    if len(levels) != 2:
        return
    term, doubts = _tested(rows, levels[0], name, data)
    statistic = "t" if term.df is not None else "z"
    count = len({(row["run"], row["match"]) for row in rows})
    low, high = term.low, term.high
    figures: Mapping[str, float | None] = {
        "beta": term.value, statistic: term.statistic, "df": term.df, "p": term.p, "ci_low": low, "ci_high": high,
        "bf": _bayes(rows, levels),
    }  # fmt: skip
    for label, value in figures.items():
        if value is not None:
            ends: tuple[float | None, float | None] = (low, high) if label == "beta" else (None, None)
            yield RunFigure(
                ("", game, f"people_{name}_{label}"),
                None,
                value,
                *ends,
                None,
                count,
                doubts if label == statistic else (),
            )


def _tested(guesses: Sequence[Observation], plain: str, name: str, data: RunData) -> tuple[Any, tuple[str, ...]]:
    from ostrom.analysis.statistics import gee_logistic, linear_mixed_model, logistic_regression

    rows = guesses
    if name == "guess_human":  # as published: each guess counts once per round
        rounds = {
            r["match"]: r["n"] for r in data.records("SELECT match, max(rounds_played) AS n FROM matches GROUP BY 1")
        }
        rows = [row for row in rows for _ in range(rounds[row["match"]])]
    y, columns = [row.value for row in rows], {FACTOR: [str(row[FACTOR]) for row in rows]}
    groups = [(row["run"], row["match"]) for row in rows]
    reference = {FACTOR: plain}
    if name.endswith("_score"):
        return linear_mixed_model(y, columns, groups=groups, unit="match", reference=reference).coefficients[1], ()
    coefficient = logistic_regression(y, columns, unit="round", reference=reference).coefficients[1]
    try:
        if name == "guess_human":
            single = {FACTOR: [str(row[FACTOR]) for row in guesses]}
            fair = logistic_regression([r.value for r in guesses], single, unit="guess", reference=reference)
            what = "counts each guess once per round; with one row per guess"
        else:
            fair = gee_logistic(y, columns, clusters=groups, unit="match", reference=reference)
            what = "takes rounds of one match for independent; clustered by match"
    except (OstromError, ValueError):
        return coefficient, ()
    term = fair.coefficients[1]
    if term.statistic is None or term.p is None:
        return coefficient, ()
    return coefficient, (f"{what} z = {term.statistic:.2f}, p = {term.p:.3f}",)


def _bayes(rows: Sequence[Observation], levels: Sequence[str]) -> float | None:
    """Return the one-sided Bayes factor, as published: more with social prompting; one mean per person and game."""
    from ostrom.analysis.statistics import jzs_two_sample

    means: dict[str, list[float]] = {level: [] for level in levels}
    for (level, *_), values in grouped(
        ((str(row[FACTOR]), row["run"], row["match"]), row.value) for row in rows
    ).items():
        means[level].append(sum(values) / len(values))
    plain, social = means.values()
    try:
        return jzs_two_sample(social, plain, unit="match", alternative="greater").bf10
    except (OstromError, ValueError):
        return None


NOT_COMPARED = (
    "Not compared: numbers of matches, games and participants and their age and sex (13 figures), which describe "
    "the sample; the 1224 matches are those of three models (136 games x 9 pairs), the paper reports on five.",
    "Not compared: the p of the Prisoner's Dilemma and seven figures over all games, printed as inequalities "
    "(p < .001, BF > 100).",
)

NO_PEOPLE = (
    "Not compared: the experiment with people (32 figures). It needs people as players; besides, the stored "
    "condition is that of the opponent served in 52.2 % of the rounds that can tell (602 of 1,153), joint "
    "cooperation was coded as mutual defection, an interval is a copy of another one, and Bayes factors are one-sided."
)


class RepeatedGames(DeclaredReference):
    """Shares of the best score by family; one player against all others; verbal claims."""

    def doubts(self, row: Mapping[str, str]) -> tuple[str, ...]:
        """Return doubts about figures that the released data do not reproduce."""
        return tuple(row["doubts"].split(" // ")) if row["doubts"] else ()

    def more(self, data: RunData, games: Games) -> Sequence[RunFigure]:  # noqa: ARG002
        """Return the run's values of the published figures."""
        return _worked_out(data)[0]

    def remarks(self, data: RunData, games: Games) -> list[str]:
        """Return remarks: what the paper averages over, and figures without a counterpart."""
        if any("family" in game.params for of in games.labelled.values() for game in of):
            note = "The paper averages over opponents that include its own models; games are the unit of intervals."
        else:
            note = "The run has none of the 144 ordinal games, whose scores by family the paper prints."
        return [note, *_worked_out(data)[1], *([] if human_types(data) else [NO_PEOPLE]), *NOT_COMPARED]


@lru_cache(maxsize=1)
def _worked_out(data: RunData) -> tuple[list[RunFigure], list[str]]:
    """Return figures and remarks of a run, cached."""
    moves, played = decisions(data), matches(data)
    tested, why = contests(moves, data)
    ours, missing = people(data)
    own = [*families(data), *pairs(data), *tested, *claims(played, data), *predictions(data, played), *ours]
    return own, [*why, *missing, *_missing(own, moves)]


def _missing(own: Sequence[RunFigure], moves: Mapping[str, Any]) -> Iterator[str]:
    """Yield the verbal claims that this run cannot show."""
    if not moves:
        yield (
            "Not compared: contests and claims about the Prisoner's Dilemma and the Battle of the Sexes; the run "
            "has no match of them with the paper's payoffs."
        )
        return
    measured = {figure.cell[1:] for figure in own}
    for game, measure, needs in NEEDS:
        if game in moves and (game, measure) not in measured:
            yield f"Not compared: {measure.replace('_', ' ')} ({game.replace('_', ' ')}); it needs {needs}."


NEEDS = (
    (PD, "cooperations_after_first_defection", "a model against a script that defects once"),
    (PD, "n_variants_above_0.1", f"a model against a script that defects once in {VARIANTS} framings"),
    (BOS, "coordination_rate", "a model against a script that alternates"),
    (BOS, "first_alternating_round", "a model of style social in seat 1 against a script that alternates"),
    (BOS, "first_correct_round_as_player", "a model that predicts a script that alternates"),
    (BOS, "first_correct_round_as_observer", "a model that observes a script that alternates"),
)
"""Verbal claims, and the matches that they need."""
