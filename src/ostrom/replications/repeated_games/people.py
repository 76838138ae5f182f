"""The experiment with people: how people fare against a model that is prompted plainly or socially.

Scores are compared by the published model (rounds with a random intercept per person and game), shares of rounds by
the published logistic regression on rounds, which takes rounds of one person for independent; the doubts of z state
the same question clustered by match. Joint cooperation is what the word says: both cooperate (the published figure
counts mutual defection). Condition is the factor ``prompting``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ostrom.analysis.measure import measures
from ostrom.analysis.references import Own
from ostrom.analysis.units import Observation, observations
from ostrom.data.rundata import RunData
from ostrom.ground.errors import OstromError
from ostrom.ground.values import grouped
from ostrom.replications.repeated_games.moves import BOS, PD

FACTOR = "prompting"
PLAIN = ("base", "direct")
PEOPLE = ("you", "human")
"""What people are called in imported rounds, by our mapping or one of a reader's own."""
BOTH = "both"
FIGURES = (
    ("bos_score", BOS, "payoff_by_round"),
    ("pd_score", PD, "payoff_by_round"),
    ("bos_coordination", BOS, "coordination_by_round"),
    ("pd_joint_cooperation", PD, "joint_cooperation_by_round"),
    ("guess_human", BOTH, "guessed_person"),
)
"""Published tests: their name, the game, and the measure."""


def people(data: RunData) -> tuple[list[Own], list[str]]:
    """The figures of a run in which people play, and why one is missing; nothing where nobody does."""
    who = persons(data)
    if not who:
        return [], []
    if FACTOR not in data.factors:
        return [], [f"Not compared: the experiment with people; the run has no factor {FACTOR}."]
    figures: list[Own] = []
    why: list[str] = []
    for name, game, measure in FIGURES:
        try:
            figures += _figures(data, who, name, game, measure)
        except (OstromError, ValueError) as error:
            why.append(f"Not compared: {name.replace('_', ' ')} of the experiment with people: {error}")
    return figures, why


def persons(data: RunData) -> set[str]:
    """The names of the types that are people, in the browser or in imported data."""
    if not data.rows.get("matches"):
        return set()
    first = data.records("SELECT min(match) AS m FROM matches WHERE unit = 'match' AND state = 'done' GROUP BY game")
    return {
        seated.name
        for row in first
        for seated in data.unit(row["m"]).players
        if seated.config.kind == "person" or (seated.config.recorded is not None and seated.name in PEOPLE)
    }


def _figures(data: RunData, who: set[str], name: str, game: str, measure: str) -> Iterator[Own]:
    part = measures.named(measure)
    theirs = name.endswith("_score")  # everything else belongs to the match, not to one of its players
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
            yield Own(
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
    """One-sided, as published: more with social prompting; one mean per person and game."""
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
