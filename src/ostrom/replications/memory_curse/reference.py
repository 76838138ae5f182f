"""Figures of the memory study (Liu et al. 2026) beyond ``claims.yaml``: sweep, mixed tables, penalty, words.

Agents that play with an adapter are compared with the base model. A study calls the base model's type ``base``; any
other type with an adapter is an arm. ``forward`` is the arm for which Liu et al. (2026, Table 1) print figures.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from statistics import median
from typing import Any

from ostrom.analysis.claims import DeclaredReference, own_figure
from ostrom.analysis.estimate import contrast, estimate, keyed, trend
from ostrom.analysis.references import POLICY_DOUBT, Games, Published, RunFigure, published_rows
from ostrom.data.rundata import RunData
from ostrom.games import build_game
from ostrom.ground.values import grouped
from ostrom.replications.memory_curse.played import BY_POLICY, WINDOW, played, players_without_answers, sd_over_rounds
from ostrom.replications.memory_curse.regimes import observed_regimes
from ostrom.replications.memory_curse.results import COMPANY, LENGTH, compositions, penalties

BASE, FORWARD = "base", "forward"
COLLAPSED, HEALTHY = 0.2, 0.6
"""A match has collapsed if less than a fifth of its actions cooperate while the median of its cell is three fifths or
more: the mean of such a cell hides two kinds of matches."""


def arms(data: RunData) -> list[str]:
    """Return the types of a study with an adapter, in order."""
    types: Mapping[str, Any] = data.study.get("types") or {}
    settings = {name: spec.get("settings") for name, spec in types.items() if isinstance(spec, Mapping)}
    return [name for name, of in settings.items() if of and of.get("adapter")]


def changes(data: RunData) -> Iterator[dict[str, Any]]:
    """Yield the change of every arm from the base model, for every game that both played.

    ``gain`` is paired by history length and seed; slopes are of cooperation over log(1 + history length).
    """
    by = ("agent", "game")
    slopes = keyed(trend(data, "memory_cooperation", "history_length", by, log="1+x", where=WINDOW), by)
    regimes = {(agent, game): r.printed for (game, _, agent), r in observed_regimes(data).items()}
    policy = keyed(estimate(data, BY_POLICY, by, where=WINDOW), by)
    collapsed = collapses(data)
    for arm in arms(data):
        gains = contrast(data, "memory_cooperation", "agent", (arm, BASE), ["game"], where=WINDOW)
        for game, gain in keyed(gains, ("game",)).items():
            key, base = (arm, *game), (BASE, *game)
            yield {
                "agent": arm, "game": game[0], "gain": gain, "slope": slopes.get(key), "base_slope": slopes.get(base),
                "regime": regimes.get(key), "base_regime": regimes.get(base), "collapsed": collapsed.get(key, 0),
                "by_policy": policy[key].value if key in policy else None,
            }  # fmt: skip


def collapses(data: RunData) -> dict[tuple[str, str], int]:
    """Return the number of collapsed matches in cooperative cells, by agent and game."""
    cells = grouped(
        ((row["agent"], row["game"], row["history_length"]), (row["match"], row["cooperation"]))
        for row in played(data)
        if row["cooperation"] is not None
    )
    fallen: Counter[tuple[str, str]] = Counter()
    for (agent, game, _), matches in cells.items():
        rates = [sum(of) / len(of) for of in grouped(matches).values()]
        if median(rates) >= HEALTHY:
            fallen[agent, game] += sum(rate < COLLAPSED for rate in rates)
    return fallen


GAMES: Mapping[str, tuple[str, str | dict[str, str]]] = {
    "prisoners_dilemma": ("prisoners_dilemma", {"name": "prisoners_dilemma", "preset": "memory_curse"}),
    "travelers_dilemma": ("travelers_dilemma", "travelers_dilemma"),
    "public_goods": ("public_goods", "public_goods"),
    "trust_symmetric": ("trust_game", "trust_symmetric"),
}
"""Ostrom's games, each with the paper's name and a game with the paper's payoffs."""

CONDITIONS = {"reasoned": "reasoning", "direct": "no_reasoning"}
POINTS = {
    "memory_cooperation": ("cooperation_rate", 100.0),
    "memory_reward": ("mean_reward", 1.0),
    "memory_discounted_reward": ("discounted_reward", 1.0),
}
WORDS: Mapping[str, dict[str, str]] = {
    "paranoia_per_1k": {"name": "word_rate", "words": "paranoia"},
    "cooperation_words_per_1k": {"name": "word_rate", "words": "cooperation"},
    "paranoia_ratio": {"name": "word_ratio", "ratio": "paranoia_ratio", "each": "trace"},
}
QUOTIENTS = {"paranoia_per_1k": "paranoia_80_over_2", "cooperation_words_per_1k": "cooperation_words_80_over_2"}
ENDS = (LENGTH, 2)
TRAINED = "trained"
NAMED = {"labels": "{} labels", "training_seed": "training seed {}"}
VARIED = frozenset(("game", "style", "history_length", "sanitization", "real_rounds", "composition", *NAMED))
"""The factors that separate figures; others are pooled, and a remark names them."""


class MemoryCurse(DeclaredReference):
    """The rows of ``reference.csv`` and the regimes; remarks on games and factors of a run."""

    def published(self) -> Sequence[Published]:
        """Return all rows, and the regimes that the paper prints as words."""
        return [*super().published(), *_printed_regimes()]

    def remarks(self, data: RunData, games: Games) -> list[str]:
        """Return remarks on games that cannot be compared, or only in part."""
        lines = []
        if many := players_without_answers(data):
            lines.append(f"{many} players never gave a readable action and are left out.")
        if "trust" in games.labelled:
            lines.append(
                "The game trust has asymmetric roles; the paper's printed rewards fit trust_symmetric alone, "
                "so only that game is compared."
            )
        for factor, levels in data.levels.items():
            if factor not in VARIED and len(levels) > 1:
                lines.append(
                    f"The paper does not vary {factor}: figures pool its levels ({', '.join(map(str, levels))})."
                )
        names = _named(games)
        for label, (printed, same) in names.items():
            if not same:
                lines.append(f"{label}: played with other payoffs than the paper's, so rewards are not compared.")
            elif label not in GAMES:
                lines.append(f"{label} pays as the paper's {printed.replace('_', ' ')} and is compared with it.")
        for label in games.labelled:
            if label not in names and (other := _pays_as(label, games)):
                lines.append(
                    f"{label} pays as the paper's {other.replace('_', ' ')}, which the run has under another name "
                    "too, so it is not compared."
                )
        return lines


Named = Mapping[str, tuple[str, bool]]
"""For each comparable game: the paper's name, and whether it pays as the paper's."""


def _pays_as(label: str, games: Games) -> str | None:
    """Return the paper's name of the game with the payoffs of this label."""
    return next((printed for printed, game in GAMES.values() if games.pays_as(label, build_game(game))), None)


def _named(games: Games) -> Named:
    """Return the comparable games: by payoffs; by name if no game of the run pays as the paper's."""
    names: dict[str, tuple[str, bool]] = {}
    for label in sorted(games.labelled, key=lambda label: label not in GAMES):
        printed = _pays_as(label, games)
        if printed is not None and (printed, True) not in names.values():
            names[label] = printed, True
    for label in games.labelled:
        if label in GAMES and label not in names and GAMES[label][0] not in {name for name, _ in names.values()}:
            names[label] = GAMES[label][0], False
    return names


def _printed_regimes() -> Iterator[Published]:
    for row in published_rows("memory_curse", "regimes.csv"):
        cell, code = (row["game"], "reasoning", "", "", "", "regime"), float(row["regime"] == "immune")
        yield Published(cell, row["model"], code, None, row["table"], "verified", (), row["regime"])


def _of_known_games(
    figures: Callable[[RunData, Named], Iterator[RunFigure]],
) -> Callable[[RunData, Games], Iterable[RunFigure]]:
    """Wrap a function of figures so that it gets the comparable games of a run; without any there are no figures."""

    @wraps(figures)
    def of_run(data: RunData, games: Games) -> Iterable[RunFigure]:
        return figures(data, names) if (names := _named(games)) else ()

    return of_run


@_of_known_games
def regime_words(data: RunData, names: Named) -> Iterator[RunFigure]:
    """Yield Appendix Table 7: immune or cursed by the paper's rule and observed rates (1 for immune)."""
    by = ("game", "style", "agent")
    matches = {key: one.n for key, one in keyed(estimate(data, "memory_cooperation", by, where=WINDOW), by).items()}
    for key, rule in observed_regimes(data).items():
        game, style, agent = key
        if game in names and style == "reasoned" and rule.printed is not None:
            cell = (names[game][0], "reasoning", "", "", "", "regime")
            yield RunFigure(
                cell, agent, float(rule.printed == "immune"), None, None, None, matches[key], word=rule.printed
            )


@_of_known_games
def sweep(data: RunData, names: Named) -> Iterator[RunFigure]:
    """Yield the figures of every agent at every history length, by labels and by training seeds of the adapter.

    The paper has one adapter and plays with the labels of its training. Figures of other labels or other training
    seeds name them in ``player``.
    """
    adapted = arms(data)
    agents = [row["agent"] for row in data.records("SELECT DISTINCT agent FROM matches ORDER BY agent")]
    yield from _curves(data, names, [a for a in agents if a not in adapted], ("labels",), CONDITIONS)
    # ``forward`` is the only adapter for which the paper prints figures.
    if FORWARD in adapted:
        yield from _curves(data, names, [FORWARD], ("training_seed", "labels"), {"reasoned": "finetuned"})


def _curves(
    data: RunData, names: Named, agents: Sequence[str], separate: Sequence[str], conditions: Mapping[str, str]
) -> Iterator[RunFigure]:
    # The paper plays with the labels of the training; among training seeds, the first stands for the paper's.
    varied = {name: data.levels[name] for name in separate if len(data.levels.get(name, ())) > 1}
    plain = {name: TRAINED if TRAINED in levels else levels[0] for name, levels in varied.items()}
    by = ("game", "style", "history_length", "agent", *plain)
    where = {"game": list(names), **WINDOW, "style": list(conditions), "agent": list(agents)}
    estimates = {name: keyed(estimate(data, name, by, where=where), by) for name in POINTS}
    doubts, rounds = _doubts(data, by, where), sd_over_rounds(data)
    for key in estimates["memory_cooperation"]:
        game, style, length, agent, *levels = key
        variant = ", ".join(
            NAMED[name].format(level)
            for (name, usual), level in zip(plain.items(), levels, strict=True)
            if level != usual
        )
        for name, (measure, scale) in POINTS.items():
            if key in estimates[name] and (name == "memory_cooperation" or names[game][1]):
                cell = (names[game][0], conditions[style], str(length), "", variant, measure)
                one = estimates[name][key]
                sd = rounds.get((name, game, style, agent)) if length == 0 and not plain else one.sd
                yield own_figure(cell, one, scale, spread=sd, doubts=doubts.get(key, ()))


@_of_known_games
def mixed(data: RunData, names: Named) -> Iterator[RunFigure]:
    doubts = _doubts(data, COMPANY, {"game": list(names), "memory_kind": "window"})
    for c in compositions(data):
        key = (c.game, c.name, c.agent, c.style)
        parts = [part.replace(" x HL ", "xHL") for part in c.name.split(" + ")]
        if c.game not in names or c.style != "reasoned" or len(parts) != 2:
            continue
        for player, measure, figure in (
            ("", "cooperation_rate", c.overall),
            ("forgiver", "cooperation_rate", c.forgiver),
            ("grudge_holder", "cooperation_rate", c.grudge_holder),
            ("", "cooperation_gap_pp", c.gap),
        ):
            if figure is not None:
                cell = (names[c.game][0], f"asymmetric_{'_'.join(parts)}", "", "", player, measure)
                yield replace(
                    own_figure(cell, figure, 100.0, spread=figure.sd, doubts=doubts.get(key, ())), agent=c.agent
                )


@_of_known_games
def sanitized(data: RunData, names: Named) -> Iterator[RunFigure]:
    by = ("game", "memory_mode", "history_length", "real_rounds", "agent")
    where = {"game": list(names), "memory_kind": "sanitized", "style": "reasoned"}
    doubts = _doubts(data, by, where)
    for key, figure in keyed(estimate(data, "memory_cooperation", by, where=where), by).items():
        game, mode, window, real, _ = key
        intact = real == window
        condition = "reasoning" if intact else f"sanitized_{mode}"
        cell = (names[game][0], condition, str(window), "" if intact else str(real), "", "cooperation_rate")
        yield own_figure(cell, figure, 100.0, spread=figure.sd, doubts=doubts.get(key, ()))


@_of_known_games
def penalty(data: RunData, names: Named) -> Iterator[RunFigure]:
    doubts = _doubts(data, ("game", "agent", "history_length"), {"game": list(names), **WINDOW})
    for entry in penalties(data):
        if entry.length == LENGTH and entry.game in names:
            cell = (
                names[entry.game][0], "reasoning_minus_no_reasoning", str(LENGTH), "", "",
                "deliberation_penalty_pp",
            )  # fmt: skip
            # The paper prints reasoning minus no reasoning, hence the negative scale.
            own = own_figure(cell, entry.cost, -100.0, doubts=doubts.get((entry.game, entry.agent, LENGTH), ()))
            yield replace(own, matches=entry.matches)


@_of_known_games
def words(data: RunData, names: Named) -> Iterator[RunFigure]:
    """Yield Appendix Table 8, which pools the four games: only for a run with all four."""
    complete = {
        key: set(of)
        for key, of in grouped(
            ((row["agent"], row["history_length"]), row["game"])
            for row in played(data)
            if row["style"] == "reasoned" and row["game"] in names
        ).items()
    }
    if len(names) < len(GAMES) or set(names) not in complete.values():
        return
    by, where = ("history_length", "agent"), {"game": list(names), "agent_style": "reasoned"}
    estimates = {name: keyed(estimate(data, spec, by, where=where), by) for name, spec in WORDS.items()}
    for length, agent in dict.fromkeys(key for of in estimates.values() for key in of):
        if complete.get((agent, length)) == set(names):
            for measure, of in estimates.items():
                if (length, agent) in of:
                    cell = ("all", "reasoning", str(length), "", "", measure)
                    yield own_figure(cell, of[length, agent], spread=of[length, agent].sd)
    pooled = {agent for agent, _ in complete if all(complete.get((agent, n)) == set(names) for n in ENDS)}
    for measure, printed in QUOTIENTS.items():
        for agent in sorted(pooled):
            long, short = (estimates[measure].get((n, agent)) for n in ENDS)
            if long is not None and short is not None and short.value:
                cell = ("all", "reasoning", "80/2", "", "", printed)
                # A quotient of two estimates; its interval is not computed.
                yield RunFigure(cell, agent, long.value / short.value, None, None, None, long.n + short.n)
    where["agent"] = sorted(pooled)
    if pooled:
        cell = ("all", "reasoning", "80-2", "", "", "paranoia_ratio_shift")
        shifts = contrast(data, WORDS["paranoia_ratio"], "history_length", ENDS, ["agent"], where=where)
        yield from (own_figure(cell, one) for one in shifts)


@_of_known_games
def forward(data: RunData, names: Named) -> Iterator[RunFigure]:
    """Yield the mean forward-looking ratio at history length 80 of immune and cursed settings."""
    where = {
        "game": list(names),
        "agent_style": "reasoned",
        "history_length": LENGTH,
        "papers_rule": ["immune", "cursed"],
    }
    by = ["papers_rule"]
    ratios = keyed(estimate(data, "memory_forward_ratio", by, where=where, balance=["setting"]), by)
    for name in ("immune", "cursed"):
        if (name,) in ratios:
            yield own_figure(("all", "reasoning", str(LENGTH), "", f"{name} settings", "forward_ratio"), ratios[name,])


def _doubts(data: RunData, by: Sequence[str], where: Mapping[str, Any]) -> dict[tuple[Any, ...], tuple[str, ...]]:
    """Return doubts where many actions were set by the policy."""
    return {
        key: (f"{100 * one.value:.0f} % of the actions were given by the policy",)
        for key, one in keyed(estimate(data, BY_POLICY, by, where=where), by).items()
        if one.value >= POLICY_DOUBT
    }
