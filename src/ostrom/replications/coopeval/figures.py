"""The figures of Tewolde et al. (2026) from a run: means, conduct, evolution and designs, by published cell.

As in the paper, a mean runs over all seats of all matches of a type (a match against itself counts once per seat), and
types weigh the same in the mean of all. Units of intervals are designs, or matches where nothing is designed. Every run
(seed) is a tournament of its own with its own payoffs, and what evolves is the mean over runs: fitness is what a type
earns in the final population; the figure of all types weighs them by it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import sqrt
from statistics import fmean, stdev
from typing import Any, NamedTuple

import orjson

from ostrom.analysis.claims import own_figure
from ostrom.analysis.determinism import Determinism
from ostrom.analysis.estimate import partly_exact_mean
from ostrom.analysis.intervals import combined, share_of
from ostrom.analysis.references import RunFigure
from ostrom.data.rundata import RunData
from ostrom.engine.plan import Unit
from ostrom.features.evolution.evolution import Tournament, evolve, run_tournaments
from ostrom.features.judging.judgements import NONE, judged_corpora, motive_shares
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.ground.errors import UsageError
from ostrom.ground.registry import parse_spec
from ostrom.ground.values import grouped
from ostrom.mechanisms.catalog.evolution import Evolution
from ostrom.mechanisms.designs import Design, Designed
from ostrom.mechanisms.fork import Branched
from ostrom.replications.coopeval.incentives import quality
from ostrom.replications.coopeval.scores import Point, normalised_mean, score_points

GAMES: Mapping[str, tuple[str, str | dict[str, str], float, float]] = {
    "prisoners_dilemma": ("prisoners_dilemma", {"name": "prisoners_dilemma", "preset": "coopeval"}, 1.0, 2.0),
    "public_goods": ("public_goods", "public_goods", 1.0, 1.5),
    "travelers_dilemma": ("travelers_dilemma", "travelers_dilemma", 2.0, 5.0),
    "trust": ("trust_game", "trust", 4.0, 10.0),
}
"""Our games: the paper's name and payoffs, and a player's payoff if all defect and if all cooperate."""

FOUR = frozenset(name for name, *_ in GAMES.values())
ALL_FOUR = "all_four"
ROUNDS, CONTINUATION, WINDOW, DEPTH = 15, 0.8, 3, 3
"""The paper's rounds, continuation probability, window and depth."""
FIXED_LEVELS: Mapping[str, tuple[str | None, ...]] = {
    "control": ("mechanism", "none"), "wording": (None,), "story": ("neutral",), "payoffs": ("sentences",),
    "goal": (None,),
}  # fmt: skip
"""The levels of control studies that are in the paper's design; other arms have no printed figure."""


@dataclass(frozen=True)
class PublishedMatches:
    """The finished matches of a run with a published cell, and remarks on the others.

    ``rows`` are rows of the matches table under the paper's names (``mechanism`` holds the setting too, see
    ``setting_label``), ``points`` their scores by seat, and ``payable`` the games that pay as the paper's do.
    """

    rows: tuple[Mapping[str, Any], ...]
    points: tuple[Point, ...]
    acts: tuple[Point, ...]
    """The same seats, with the share of cooperative actions in per cent as value."""
    payable: frozenset[str]
    remarks: tuple[str, ...]


def match_cells(data: RunData) -> PublishedMatches:
    """Return the matches of the published cells; unfinished ones are among the rows only, without points."""
    rows, as_printed, rounds = [], dict[str, bool](), list[tuple[str, int]]()
    mechanism_at = cache(lambda number: mechanism_of(data.unit(number)))
    constants = {name: levels for name, levels in FIXED_LEVELS.items() if name in data.factors}
    for row in data.records("SELECT * FROM matches WHERE unit = 'match' AND seat IS NOT NULL ORDER BY match, player"):
        if any(row[name] not in levels for name, levels in constants.items()):
            continue
        unit = data.unit(row["match"])
        where, entry = mechanism_at(row["match"]), GAMES.get(unit.game.name)
        if where is None or entry is None:
            continue
        name, same = entry[0], _pays_as_printed(unit.game)
        as_printed[name] = as_printed.get(name, True) and same
        rounds.append((where[0], getattr(unit.mechanism, "rounds", ROUNDS)))
        # One agent is one line of the comparison, whatever else varies about it.
        rows.append({**row, "mechanism": setting_label(*where), "game": name, "agent_id": row["agent"]})
    remarks = [
        *(
            f"{name}: played with other payoffs than the paper's, so payoffs are not compared."
            for name, same in as_printed.items()
            if not same
        ),
        *(
            f"{name}: played for {', '.join(map(str, sorted(set(of))))} rounds, the paper for {ROUNDS}."
            for name, of in grouped((name, n) for name, n in rounds if n != ROUNDS).items()
        ),
    ]
    points = score_points(rows, data.unit).points
    acted = [{**r, "score": None if r["cooperation"] is None else 100 * r["cooperation"]} for r in rows]
    acts = tuple(replace(p, value=p.score, bounds=(0.0, 100.0)) for p in score_points(acted, data.unit).points)
    return PublishedMatches(
        tuple(rows), points, acts, frozenset(g for g, same in as_printed.items() if same),
        (*remarks, *_pooled(data, rows)),
    )  # fmt: skip


def mechanism_of(unit: Unit) -> tuple[str, str] | None:
    """Return the paper's name of a unit's mechanism, and its deviating setting; None if the paper lacks it.

    A setting reads as the paper's ablations do: ``continuation 0.7`` or ``window 2``.
    """
    rules = unit.mechanism
    while isinstance(rules, Branched):
        rules = rules.rules
    if isinstance(rules, Evolution):
        return None
    facts: Mapping[str, Any] = getattr(rules, "told", {}) if rules.name in ("repetition", "reputation") else {}
    if rules.name == "none":
        return "NoMechanism", ""
    if isinstance(rules, Designed) and rules.name in ("mediation", "contracting"):
        return rules.name.capitalize(), "given designs" if rules.fixed else ""
    if rules.name == "repetition":
        odd = {
            "predict": getattr(rules, "predict", None),
            "noise": getattr(rules, "noise", None),
            "random end": getattr(rules, "stopping", "fixed") != "fixed",
        }
        settings = [*_future(rules, facts), *_windows(unit), *(name for name, applies in odd.items() if applies)]
        return "Repetition", ", ".join(settings)
    if rules.name == "reputation":
        higher = facts["order"] == "higher"
        own = {"window": WINDOW, **({"depth": DEPTH} if higher else {})}
        odd_sizes = (f"{name} {facts[name]}" for name, size in own.items() if facts[name] != size)
        return f"Reputation{'+' if higher else '-'}", ", ".join([*_future(rules, facts), *odd_sizes])
    return None


def setting_label(mechanism: str, setting: str) -> str:
    """Join a mechanism and its setting into one key: ``mechanism|setting``."""
    return f"{mechanism}|{setting}"


def split_label(text: str) -> tuple[str, str]:
    """Split a key made by ``setting_label`` into mechanism and setting.

    >>> split_label(setting_label("Repetition", "window 2"))
    ('Repetition', 'window 2')
    """
    mechanism, _, setting = text.partition("|")
    return mechanism, setting


def _future(rules: Any, told: Mapping[str, Any]) -> Iterator[str]:
    """Yield the setting's deviations in continuation: the told chance and the discount."""
    chance, weight = told.get("continuation"), rules.discount
    if chance == weight == CONTINUATION:
        return
    yield f"continuation {chance:g}" if chance == weight is not None else f"told {chance}, discount {weight}"


def _windows(unit: Unit) -> Iterator[str]:
    """Yield the deviations in the shown past; strategies are shown nothing."""
    memories = {_window(p.config.memory) for p in unit.players if p.config.strategy is None}
    if memories - {WINDOW}:
        yield " and ".join(sorted(f"window {k}" if isinstance(k, int) else f"memory {k}" for k in memories))


def _window(memory: str | dict[str, Any]) -> int | str:
    name, args, kwargs = parse_spec(memory)
    size = kwargs.get("k", args[0] if args else None)
    return size if name == "window" and isinstance(size, int) else name


def _pays_as_printed(game: Game) -> bool:
    other = _printed(game.name)
    return game.payoffs.shape == other.payoffs.shape and bool((game.payoffs == other.payoffs).all())


@cache
def _printed(name: str) -> Game:
    return build_game(GAMES[name][1])


def _pooled(data: RunData, rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield remarks on factors that figures pool."""
    for name in data.factors:
        cells = grouped(((row["mechanism"], row["game"]), row[name]) for row in rows)
        if name not in ("mechanism", "game") and any(len(set(levels)) > 1 for levels in cells.values()):
            yield f"The study varies {name}; figures pool its levels."


PAYOFF, NORMALISED = "mean_payoff", "mean_payoff_normalised"
COOPERATION = "cooperative_action_rate_pct"


def means(found: PublishedMatches) -> Iterator[RunFigure]:
    """Yield payoffs of games that pay as printed, and all rates of cooperation."""
    paid = [p for p in found.points if p.game in found.payable]
    for (mechanism, game), of in by_cell([replace(p, value=p.score, bounds=p.score_bounds) for p in paid]).items():
        yield from _each(mechanism, game, PAYOFF, of)
    for (mechanism, game), of in by_cell(paid).items():
        # For single games only the mean of all models is published on this scale.
        yield _own(mechanism, game, NORMALISED, None, of)
    for mechanism in dict.fromkeys(p.mechanism for p in paid):
        yield from _each(mechanism, ALL_FOUR, NORMALISED, [p for p in paid if p.mechanism == mechanism])
    for (mechanism, game), of in by_cell(found.acts).items():
        yield from _each(mechanism, game, COOPERATION, of)


def by_cell(points: Sequence[Point]) -> dict[tuple[str, str], list[Point]]:
    """Group points by mechanism (with its setting) and game."""
    return grouped(((point.mechanism, point.game), point) for point in points)


def _each(mechanism: str, game: str, measure: str, points: Sequence[Point]) -> Iterator[RunFigure]:
    """Yield the figure of every type with all needed games, and of all types together."""
    types = dict.fromkeys(p.type for p in points)
    needed = FOUR if game == ALL_FOUR else {game}
    for agent in types:
        own = [p for p in points if p.type == agent]
        if {p.game for p in own} == needed:
            yield _own(mechanism, game, measure, agent, own)
    if {p.game for p in points} == needed:
        yield _own(mechanism, game, measure, None, points)


def _own(mechanism: str, game: str, measure: str, agent: str | None, points: Sequence[Point]) -> RunFigure:
    name, setting = split_label(mechanism)
    mean = normalised_mean(points)
    own = mean.estimate
    return RunFigure((name, game, setting, measure), agent, own.value, own.low, own.high, None, mean.matches)


DELEGATE, SIGN = "all_players_delegate_pct", "contracts_signed_by_all_pct"


def conduct(found: PublishedMatches) -> Iterator[RunFigure]:
    """Yield one figure per game over all matches: the paper's release pools all models."""
    united: dict[int, tuple[str, bool]] = {}
    for row in found.rows:
        facts = orjson.loads(row["facts"]) if row["facts"] else {}
        if "delegated" in facts:
            united[row["match"]] = DELEGATE, all(facts["delegated"])
        elif "in_force" in facts:
            # A contract comes into force if nobody refuses to sign it.
            united[row["match"]] = SIGN, bool(facts["in_force"])
    points = [
        replace(point, type="all", value=100.0 * united[match][1], bounds=(0.0, 100.0))
        for match, point in reversed({point.match: point for point in reversed(found.points)}.items())
        if match in united
    ]
    return (
        _own(mechanism, game, united[of[0].match][0], None, of) for (mechanism, game), of in by_cell(points).items()
    )


FITNESS, NORMALISED_FITNESS = "fitness_after_replicator", "fitness_after_replicator_normalised"
RANK = "deviation_rating_rank"
TYPES = 6
"""The paper's number of models; ranks are only comparable among as many types."""
SCALES = {name: (low, high) for name, _, low, high in GAMES.values()}


Key = tuple[str, str, str, str | None]
"""Mechanism (with setting), game, measure and type; None for all types."""


class _RunValue(NamedTuple):
    """A figure's value in one run, and the matches behind it."""

    value: float
    exact: bool
    matches: int
    unfinished: int


def evolution(found: PublishedMatches, data: RunData) -> tuple[list[RunFigure], list[str]]:
    """Return the figures after evolution, and remarks on tournaments that have none."""
    certain = Determinism(data.unit)
    figures: dict[Key, list[_RunValue]] = {}
    problems: list[tuple[str, str]] = []
    for one in _tournaments(found, data):
        mechanism, game = str(one.cell["mechanism"]), str(one.cell["game"])
        try:
            evolved = list(_evolved(one))
        except UsageError as error:
            alone = len(one.types) > 1 and all(len(set(match.types)) == 1 for match in one.matches)
            why = "every type meets itself alone" if alone else str(error)
            problems.append((why, f"{split_label(mechanism)[0]} in {game}"))
            continue
        exact = all(map(certain, one.numbers))
        for measure, agent, value in evolved:
            figures.setdefault((mechanism, game, measure, agent), []).append(
                _RunValue(value, exact, len(one.matches), one.unfinished)
            )
    return [*_by_game(figures), *_over_games(figures)], [
        f"Not compared: what evolves under {', '.join(dict.fromkeys(places))}: {why}."
        for why, places in grouped(problems).items()
    ]


def _tournaments(found: PublishedMatches, data: RunData) -> Iterator[Tournament]:
    """Yield tournaments with the paper's payoffs and pairwise matches: one per mechanism, game and run."""
    by = ["mechanism", "game", "seed", *(f for f in data.factors if f not in ("mechanism", "game", "seed"))]
    rows = [row for row in found.rows if row["game"] in found.payable]
    return (one for one in run_tournaments(rows, data.unit, by) if one.matches and not one.society)


def _evolved(one: Tournament) -> Iterator[tuple[str, str | None, float]]:
    grown = evolve(one, "replicator").facts
    for agent, value in grown["fitness"].items():
        yield FITNESS, agent, value
    yield FITNESS, None, grown["mean_fitness"]
    if len(one.types) == TYPES:
        for agent, rank in evolve(one, "deviation").shares["rank"].items():
            yield RANK, agent, rank


def _by_game(figures: Mapping[Key, list[_RunValue]]) -> Iterator[RunFigure]:
    for (mechanism, game, measure, agent), runs in figures.items():
        name, setting = split_label(mechanism)
        yield _mean_of((name, game, setting, measure), agent, [run.value for run in runs], [runs], measure)


def evolution_gain(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Yield the gain from evolution in each tournament: mean fitness after it minus mean payoff.

    A tournament (mechanism, game, run) is one row, at one of its matches: no player has a gain of its own, and a run
    is what is independent. One type alone cannot evolve, and a society has no payoffs against single opponents.
    """
    certain = Determinism(data.unit)
    for one in _tournaments(match_cells(data), data):
        if len(one.types) > 1:
            try:
                after = evolve(one, "replicator").facts["mean_fitness"]
            except UsageError:  # pairs that never met
                continue
            low, high = SCALES[str(one.cell["game"])]
            # The row stands for all matches of the tournament: it is exact only if each of them is.
            match = min(one.numbers, key=lambda number: (certain(number), number))
            yield {"match": match, "value": (after - fmean(one.means().values())) / (high - low)}


def _mean_of(
    cell: tuple[str, ...], agent: str | None, values: Sequence[float], games: Sequence[list[_RunValue]], measure: str
) -> RunFigure:
    """Return the figure of the mean of some values, with an interval over their runs; games weigh the same."""
    all_runs = [run for runs in games for run in runs]
    limits = partly_exact_mean(
        [run.value for run in all_runs],
        [run.exact for run in all_runs],
        [1 / len(runs) for runs in games for _ in runs],
        strata=[place for place, runs in enumerate(games) for _ in runs],
        bounds=(1.0, float(TYPES)) if measure == RANK else (None, None),
        unit="run",
    ).limits()
    error = stdev(values) / sqrt(len(values)) if len(values) > 1 else None
    unfinished = sum(run.unfinished for run in all_runs)
    doubts = (f"{unfinished} matches of the tournament are not finished",) if unfinished else ()
    matches = sum(run.matches for run in all_runs)
    return RunFigure(cell, agent, fmean(values), limits.low, limits.high, error, matches, doubts)


def _over_games(figures: Mapping[Key, list[_RunValue]]) -> Iterator[RunFigure]:
    """Yield means over the four games; fitness is on the games' common scale."""
    for mechanism, measure, agent in dict.fromkeys((m, what, who) for m, _, what, who in figures):
        of = {g: figures[mechanism, g, measure, agent] for g in FOUR if (mechanism, g, measure, agent) in figures}
        if set(of) != FOUR:
            continue
        name, setting = split_label(mechanism)
        if measure == FITNESS:
            of = {
                g: [r._replace(value=(r.value - SCALES[g][0]) / (SCALES[g][1] - SCALES[g][0])) for r in runs]
                for g, runs in of.items()
            }
        means = [fmean(run.value for run in runs) for runs in of.values()]
        cell = (name, ALL_FOUR, setting, NORMALISED_FITNESS if measure == FITNESS else RANK)
        yield _mean_of(cell, agent, means, list(of.values()), measure)


NASH, DOMINANT = "design_nash_stable_pct", "design_weakly_dominant_pct"


def designs(found: PublishedMatches, data: RunData) -> Iterator[RunFigure]:
    """Yield shares over the designs of each game, then over the four games, as the paper's table does."""
    verdicts: dict[tuple[str, str], list[tuple[str, tuple[bool, bool, bool]]]] = {}
    for row in data.records(
        "SELECT match, agent, facts, policies FROM matches WHERE unit = 'preparation' AND state = 'done' ORDER BY match"
    ):
        unit = data.unit(row["match"])
        entry = GAMES.get(unit.game.name)
        if not isinstance(unit.mechanism, Design) or entry is None or entry[0] not in found.payable:
            continue
        verdict = quality(unit.mechanism.rules, unit.game, orjson.loads(row["facts"])["design"])
        verdicts.setdefault((unit.mechanism.name.capitalize(), row["agent"]), []).append(
            (entry[0], (verdict.equilibrium, verdict.dominant, row["policies"] > 0))
        )
    for (mechanism, agent), cases in verdicts.items():
        games, count = grouped(cases), len(cases)
        if set(games) != FOUR:
            continue
        replaced = sum(by_policy for _, (*_, by_policy) in cases)
        doubts = (f"{replaced} of {count} designs were given by the policy",) if replaced else ()
        for place, measure in enumerate((NASH, DOMINANT)):
            share = 100 * fmean(fmean(one[place] for one in of) for of in games.values())
            shares = [share_of(sum(one[place] for one in of), len(of), unit="design") for of in games.values()]
            limits = combined([(100 / len(shares), one) for one in shares]).limits()
            yield RunFigure(
                (mechanism, ALL_FOUR, "", measure), agent, share, limits.low, limits.high, None, count, doubts
            )


def motives(data: RunData) -> Iterator[RunFigure]:
    """Yield shares of judged replies with a motive, by mechanism over all agents; empty without judgements."""
    names = {"none": "NoMechanism", "reputation_first": "Reputation-", "reputation_higher": "Reputation+"}
    for corpus in judged_corpora(data.folder):
        for one in motive_shares(corpus, "mechanism") if corpus.judged() else ():
            if one.motive != NONE:
                name = names.get(one.level, one.level.capitalize())
                yield own_figure((name, ALL_FOUR, "", f"motive_{one.motive}_pct"), one.estimate, 100)
