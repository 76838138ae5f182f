"""The figures of Akata et al. (2025) from a run: family scores, pairs of models, verbal claims, predictions.

Table 1 has points as a share of the most that a player could get, averaged over the games of a family. One model
against another is compared over all games: the paper's df of 287 are those of the 288 matches of a pair (144 games,
both seatings); the released script did not take their differences, so every printed figure is in doubt. In words the
paper says of GPT-4 that it is unforgiving, stubborn and robust to wording, and of SCoT that it gets in step.

Predictions are asked by the mechanism (of players or of an observer) or made on the way to a choice (style
social). Each is held against what the predicted seat then did in that round.

One player against all others in a tournament is tested as published, and with a valid unit beside it. The published
figures pool the points of every round in which the agent sat in seat 1 with those of the last round alone in which it
sat in seat 2, and treat each as an independent observation: that is pseudo-replication, and their intervals are too
narrow. With the match as the unit, an observation is the total of one player in one match; the doubts of t state that
test. A figure needs one tournament: with several framings in a run there would be several, and their rounds must not be
thrown together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import fmean, median
from typing import Any

from ostrom.analysis.claims import own_figure
from ostrom.analysis.estimate import estimate
from ostrom.analysis.measure import measures
from ostrom.analysis.references import AGAINST, Cell, RunFigure
from ostrom.analysis.statistics import (
    BayesFactor,
    StatisticalTest,
    cohens_d,
    cohens_d_paired,
    jzs_paired,
    jzs_two_sample,
    paired_t,
    welch_t,
)
from ostrom.analysis.units import observations
from ostrom.data.rundata import RunData, quoted
from ostrom.ground.errors import OstromError, UnknownName
from ostrom.ground.values import grouped
from ostrom.replications.repeated_games.moves import BOS, PD, Match, Side, always, facing, jointly, matches, together


def median_round(cell: Cell, agent: str, series: Sequence[tuple[int, bool]], what: str) -> RunFigure:
    """Return the median over series of the round in which something was reached.

    A series that never gets there counts as the round after its last one, so that it cannot make the median earlier.
    """
    never = sum(not reached for _, reached in series)
    doubts = (f"never in {never} of {len(series)} {what}, counted as the round after the last",) if never else ()
    rounds = [first for first, _ in series]
    return RunFigure(
        cell, agent, float(median(rounds)), None, None, None, len(series), doubts, alike=len(set(rounds)) == 1
    )


ALL_GAMES = "all families"
MEASURE = "score_ratio"
PUBLISHED = ("cyclic", "win-win", "biased", "unfair", "second-best", "pd-family")
"""All families but the tragic one, which the paper omits."""


def families(data: RunData) -> Iterator[RunFigure]:
    """Yield means over games: seats and opponents are averaged within a game first, as in the paper."""
    where = {"family": PUBLISHED}
    estimates = estimate(data, MEASURE, ["agent", "family"], where=where, balance=["number"])
    for overall in estimate(data, MEASURE, ["agent"], where=where, balance=["number"]) if estimates else ():
        own = [one for one in estimates if one.key["agent"] == overall.key["agent"]]
        for one in own:
            yield own_figure((one.key["family"].replace("-", "_"), "", MEASURE), one)
        if len(own) == len(PUBLISHED):
            yield own_figure(("overall", "", MEASURE), overall)


def pairs(data: RunData) -> Iterator[RunFigure]:
    """Yield the paired test of every two agents: their difference in common matches, over all ordinal games."""
    rows = observations(data, measures.named(MEASURE)).rows
    by_match = grouped(((row["match"], row["number"]), (row["agent"], row.value)) for row in rows)
    scores = [(number, dict(of)) for (_, number), of in by_match.items()]
    scores_by_pair = grouped(
        ((a, b), (number, of[a], of[b])) for number, of in scores if len(of) == 2 for a, b in permutations(of)
    )
    for (a, b), pair_scores in scores_by_pair.items():
        try:
            yield from _paired(f"{a}{AGAINST}{b}", pair_scores)
        except (OstromError, ValueError):  # one match alone, or equal scores
            continue


def _paired(pair: str, scores: list[tuple[int, float, float]]) -> Iterator[RunFigure]:
    a, b = [first for _, first, _ in scores], [second for _, _, second in scores]
    test, effect = paired_t(a, b, unit="match"), cohens_d_paired(a, b, unit="match")
    bf = jzs_paired(a, b, unit="match").bf10
    return own_tests((ALL_GAMES, "against_one_model"), pair, test, effect, bf, len(scores), _by_game(scores))


def _by_game(scores: list[tuple[int, float, float]]) -> tuple[str, ...]:
    """Return the doubt that both seatings of a game are dependent, with the paired test by game; empty without one."""
    games = grouped((number, (a, b)) for number, a, b in scores)
    first, second = ([sum(pair[i] for pair in of) / len(of) for of in games.values()] for i in (0, 1))
    try:
        test = paired_t(first, second, unit="game")
    except (OstromError, ValueError):
        return ()
    text = f"t({test.df:.0f}) = {test.statistic:.2f}, p = {test.p:.3f}"
    return (f"takes the two seatings of a game for independent; with games as the unit {text}",)


MEANS = (
    ((PD, "cooperations_after_first_defection"), "forgiveness"),
    ((BOS, "coordination_rate"), "coordination_with_alternation"),
)
"""Figures that are means over matches, and their measures."""
IN_STEP = "first_alternating_round"
HIGHEST, ABOVE = "max_joint_cooperation_in_regular_variants", "n_variants_above_0.1"
VARIANTS, EXCEPTIONS, BOUND, STORY = 9, 2, 0.1, "pair"
"""The paper's nine wordings of a plain story, of which two exceed a rate of 0.1."""


def claims(found: Sequence[Match], data: RunData) -> Iterator[RunFigure]:
    """Yield every claim that the run's matches address; agents are all without a strategy."""
    # The printed figures are of players who are told nothing about the other one.
    where = {"hint": None} if "hint" in data.factors else {}
    for (game, figure), measure in MEANS:
        if any(match.game == game for match in found):
            yield from (own_figure(("", game, figure), one) for one in estimate(data, measure, ["agent"], where=where))
    yield from in_step(found)
    yield from wordings(found, data)


def in_step(found: Sequence[Match]) -> Iterator[RunFigure]:
    """Yield from which round on a player at seat 1 matches a script that alternates."""
    # Models that are asked plainly have no figure for the social chain of thought.
    steps = grouped(
        (me.agent, _first_common_round(together(me, other)))
        for _, me, other in facing(found, BOS, Side.alternates)
        if me.seat == 1 and me.style in ("social", None)
    )
    return (median_round(("", BOS, IN_STEP), agent, reached, "matches") for agent, reached in steps.items())


def wordings(found: Sequence[Match], data: RunData) -> Iterator[RunFigure]:
    """Yield joint cooperation with a script that defects once, over nine wordings of the plain story."""
    joint: dict[str, list[tuple[str, float]]] = {}
    query = "SELECT DISTINCT match, story FROM matches"
    stories = {row["match"]: row["story"] for row in data.records(query)} if "story" in data.factors else {}
    for match, me, other in facing(found, PD, Side.defects_once):
        if stories.get(match.number, STORY) != STORY:
            continue
        joint.setdefault(me.agent, []).append(
            (data.unit(match.number).players[me.seat - 1].config.framing.model_dump_json(), fmean(jointly(me, other)))
        )
    for agent, rates in joint.items():
        if len(variants := grouped(rates)) == VARIANTS:
            ordered = sorted((fmean(of) for of in variants.values()), reverse=True)
            above = float(sum(rate > BOUND + 1e-9 for rate in ordered))
            alike = all(len(set(of)) == 1 for of in variants.values())
            for figure, value in ((HIGHEST, ordered[EXCEPTIONS]), (ABOVE, above)):
                yield RunFigure(("", PD, figure), agent, value, None, None, None, len(rates), alike=alike)


def _first_common_round(same: Sequence[bool]) -> tuple[int, bool]:
    """Return the first round from which both play the same to the end (else the round after), and whether they do.

    >>> _first_common_round([True, False, True, True]), _first_common_round([True, False])
    ((3, True), (3, False))
    """
    first = max((number for number, both in enumerate(same, 1) if not both), default=0) + 1
    return first, first <= len(same)


AS_PLAYER, AS_OBSERVER = "first_correct_round_as_player", "first_correct_round_as_observer"


def predictions(data: RunData, found: Sequence[Match]) -> Iterator[RunFigure]:
    """Yield medians over series of predictions about a player that alternates."""
    series = grouped(
        ((row["agent"], AS_OBSERVER if row["seat"] is None else AS_PLAYER), (row["from_round"], row["ever"]))
        for row in _of_alternation(data, found)
    )
    return (median_round(("", BOS, measure), agent, reached, "series") for (agent, measure), reached in series.items())


def first_right_round(data: RunData) -> Iterator[dict[str, Any]]:
    """Yield the first round from which all predictions about an alternating script are right."""
    return (
        {"match": row["match"], "player": row["player"], "value": row["from_round"]}
        for row in _of_alternation(data, matches(data))
    )


def _of_alternation(data: RunData, run_matches: Sequence[Match]) -> Iterator[dict[str, Any]]:
    """Yield the first right rounds of models that predict, without a social style, a player that alternates."""
    alternating = always(run_matches, BOS, Side.alternates)
    battles = {match.number for match in run_matches if match.game == BOS}
    for row in first_right_rounds(data):
        # A strategy predicts by its own rule, and a social agent predicts before its choice.
        plain_model = row["strategy"] is None and row["agent_style"] != "social"
        if plain_model and row["match"] in battles and row["target_agent"] in alternating:
            yield row


def first_right_rounds(data: RunData, by: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the round from which every prediction is right, per match, predictor and predicted seat.

    Where even the last prediction is wrong, ``ever`` is false and ``from_round`` is the round after it.
    """
    keys = "match player seat agent agent_style strategy target".split()
    picked = ", ".join(f"p.{quoted(name)}" for name in dict.fromkeys([*keys, *by]))
    return data.records(
        f"SELECT {picked}, a.agent AS target_agent, "
        "max(CASE WHEN p.answer IS DISTINCT FROM a.action THEN p.round END) AS wrong, "
        "coalesce(wrong + 1, min(p.round)) AS from_round, from_round <= max(p.round) AS ever "
        "FROM decisions p JOIN decisions a ON a.match = p.match AND a.round = p.round AND a.seat = p.target "
        "WHERE starts_with(p.kind, 'predict') AND p.state = 'done' AND p.unit = 'match' "
        "AND a.kind = 'act' AND a.action IS NOT NULL GROUP BY ALL ORDER BY p.match, p.player, p.target"
    )


def prediction_lines(data: RunData, by: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield accuracy and first right rounds by predictor and predicted; none without predictions.

    There is one series per match, predictor and predicted seat. ``median`` is that of the first rounds from which all
    are right; a series without one (``never``) counts as its last round plus 1.
    """
    keys = [*by, "agent", "target_agent"]
    series = grouped(
        (tuple(row[key] for key in keys), (row["from_round"], row["ever"])) for row in first_right_rounds(data, by)
    )
    for one in estimate(data, "prediction_accuracy", keys) if series else ():
        reached = series[tuple(one.key.values())]
        middle = float(median(first for first, _ in reached))
        never = sum(not ever for _, ever in reached)
        yield {"accuracy": one, "series": len(reached), "median": middle, "never": never}


def contests(moves: Mapping[str, Any], data: RunData) -> tuple[list[RunFigure], list[str]]:
    """Return the figures of every agent against all others, and reasons why a game has none."""
    figures: list[RunFigure] = []
    why: list[str] = []
    for game, frame in moves.items():
        by = [f for f in data.factors if f != "game" and frame[f].n_unique() > 1]
        parts = frame.partition_by(by, maintain_order=True) if by else [frame]
        # If prompting is a factor, the paper's tournament is that with plain questions.
        plain = [p for p in parts if set(p["agent_style"].drop_nulls()) != {"social"}]
        if len(plain) != 1:
            why.append(
                f"Not compared: tests of a player against all others in {game}; the run holds {len(plain)} "
                f"tournaments ({', '.join(by)}), the paper one."
            )
            continue
        agents = plain[0].filter(plain[0]["seat"].is_not_null())["agent"].unique(maintain_order=True)
        for agent in agents if len(agents) > 1 else ():
            try:
                figures += _contest(plain[0], game, agent)
            except (OstromError, ValueError) as error:
                # Points without variance, or no interval for the effect size.
                why.append(f"Not compared: {agent} against all others in {game}: {error}")
    return figures, why


def _contest(frame: Any, game: str, agent: str) -> Iterator[RunFigure]:
    test = published_test(frame, agent)
    count = frame.filter(frame["agent"] == agent)["match"].n_unique()
    return own_tests(
        (game, "against_all_others"), agent, test.t, test.d, test.bayes.bf10, count, _per_match(frame, agent)
    )


def own_tests(
    place: tuple[str, str],
    agent: str,
    test: StatisticalTest,
    effect: StatisticalTest,
    bf: float,
    count: int,
    doubts: tuple[str, ...],
) -> Iterator[RunFigure]:
    """Yield the figures of a test under their published names: the interval at d, the doubts at t.

    ``place`` is the game and what ends the name of every figure.
    """
    (game, suffix), low, high = place, effect.low, effect.high
    figures = {
        "t": test.statistic, "df": test.df, "p": test.p, "d": effect.value, "d_ci_low": low, "d_ci_high": high,
        "bf": bf,
    }  # fmt: skip
    for name, value in figures.items():
        cell, ends = ("", game, f"{name}_{suffix}"), (low, high) if name == "d" else (None, None)
        yield RunFigure(cell, agent, value, ends[0], ends[1], None, count, doubts if name == "t" else ())


def _per_match(frame: Any, agent: str) -> tuple[str, ...]:
    """Return a sentence with the agent's test by match totals; empty without variance."""
    try:
        ours = match_test(frame, agent).t
    except (OstromError, ValueError):  # totals without variance
        return ()
    return (
        "takes rounds of one match for independent; with match totals as the unit "
        f"t({ours.df:.1f}) = {ours.statistic:.2f}, p = {ours.p:.3f}",
    )


@dataclass(frozen=True, slots=True)
class AgainstAll:
    """The tests of one agent against the rest, with their unit of analysis."""

    t: StatisticalTest
    d: StatisticalTest
    bayes: BayesFactor


def published_test(decisions: Any, agent: str) -> AgainstAll:
    """Return the published test: all rounds in seat 1 and the last ones in seat 2, one observation each."""
    import polars as pl

    done = _acts(decisions)
    last = pl.col("round") == pl.col("round").max().over("run", "match")
    return _tested(done.filter((pl.col("seat") == 1) | ((pl.col("seat") == 2) & last)), agent, "round")


def match_test(decisions: Any, agent: str) -> AgainstAll:
    """Return the test with match totals, one observation per player and match."""
    player = ["run", "match", "player", "agent"]
    return _tested(
        _acts(decisions).select(*player, "payoff").group_by(player, maintain_order=True).sum(), agent, "match"
    )


def _acts(decisions: Any) -> Any:
    """The actions of finished matches: one row per round and seat."""
    return decisions.filter(
        (decisions["kind"] == "act") & (decisions["state"] == "done") & decisions["action"].is_not_null()
    )


def _tested(rows: Any, agent: str, unit: str) -> AgainstAll:
    agents = rows["agent"].unique(maintain_order=True).to_list()
    if agent not in agents:
        raise UnknownName("agent", agent, agents)
    own = rows["agent"] == agent
    ours, others = (rows.filter(which)["payoff"].to_list() for which in (own, ~own))
    return AgainstAll(
        welch_t(ours, others, unit=unit), cohens_d(ours, others, unit=unit), jzs_two_sample(ours, others, unit=unit)
    )
