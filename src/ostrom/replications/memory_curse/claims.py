"""Liu et al. (2026), The Memory Curse: the sweep, mixed tables, sanitized pasts, penalty and words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ostrom.analysis.lexicons import RATIOS
from ostrom.analysis.rundata import RunData
from ostrom.analysis.traces.summary import trace_summary
from ostrom.analysis.traces.table import trace_table
from ostrom.games import build_game
from ostrom.replications.memory_curse.episodes import Episode, episodes, grouped, wholly_by_policy
from ostrom.replications.memory_curse.estimates import Estimate, estimate
from ostrom.replications.memory_curse.penalty import LENGTH, penalties
from ostrom.replications.memory_curse.regimes import regime
from ostrom.replications.memory_curse.roles import companies
from ostrom.studies.compare.figures import POLICY_DOUBT, Cell, Games, Own, Published, Reference, doubts_in
from ostrom.studies.compare.published import number, published_rows

GAMES: Mapping[str, tuple[str, str | dict[str, str]]] = {
    "prisoners_dilemma": ("prisoners_dilemma", {"name": "prisoners_dilemma", "preset": "memory_curse"}),
    "travelers_dilemma": ("travelers_dilemma", "travelers_dilemma"),
    "public_goods": ("public_goods", "public_goods"),
    "trust_symmetric": ("trust_game", "trust_symmetric"),
}
"""Own games: what the paper's tables call them, and with which payoffs the paper plays them."""

CONDITIONS = {"reasoned": "reasoning", "direct": "no_reasoning"}
POINTS = {"cooperation": ("cooperation_rate", 100.0), "reward": ("mean_reward", 1.0),
          "discounted": ("discounted_reward", 1.0)}  # fmt: skip
WORDS = {
    "paranoia_per_1k": "paranoia_per_1000_words",
    "cooperation_words_per_1k": "cooperation_per_1000_words",
    "paranoia_ratio": "paranoia_ratio_mean",
}
HOW_AVERAGED = "CONFLICT: not the ratio of the printed frequencies; the paper does not say how it is averaged"


class MemoryCurse(Reference):
    """Cooperation in per cent, rewards in points per round, words per 1,000 words of reasoning."""

    name: ClassVar[str] = "memory_curse"
    citation: ClassVar[str] = "Liu et al. (2026), The Memory Curse"
    columns: ClassVar[tuple[str, ...]] = ("game", "condition", "history", "real", "player", "measure")
    spread: ClassVar[str] = "SD over 3 runs (over rounds at history length 0); population and n - 1 are mixed"
    protocol: ClassVar[Mapping[str, Any]] = {
        "mechanism.rounds": 500,
        "mechanism.told_continuation": 0.99,
        "agent.params.temperature": 0.7,
        "agent.params.max_tokens": 2000,
    }

    def published(self) -> Sequence[Published]:
        """All rows but those about fine-tuning, and columns that are arithmetic on others."""
        return list(_published())

    def own(self, data: RunData, games: Games) -> Sequence[Own]:
        """Every figure that the run's finished matches and traces give."""
        played = [e for e in episodes(data) if e.game in GAMES]
        payable = {name for name in games.labelled if name in GAMES and _as_printed(name, games)}
        return [
            *_sweep(played, payable), *_mixed(played), *_sanitized(played), *_penalty(played),
            *_words(data, played), *_forward(data, played),
        ]  # fmt: skip

    def remarks(self, data: RunData, games: Games) -> list[str]:
        """Games that cannot be compared, or only in part."""
        found = []
        silent = wholly_by_policy(data)
        if silent:
            found.append(f"{silent} players never gave a readable action and are left out.")
        if "trust" in games.labelled:
            found.append(
                "The game trust has asymmetric roles; the paper's printed rewards fit trust_symmetric alone, "
                "so only that game is compared."
            )
        for name in games.labelled:
            if name in GAMES and not _as_printed(name, games):
                found.append(
                    f"{name}: played with other payoffs than the paper's, so rewards are not compared."
                )
        return found


def _as_printed(name: str, games: Games) -> bool:
    return games.pays_as(name, build_game(GAMES[name][1]))


def _published() -> Iterator[Published]:
    for row in published_rows("memory_curse"):
        condition, history, real = row["condition"], row["history_length"], row["x_real_rounds"]
        measure, value = row["metric"], number(row["value"])
        if value is None or condition.startswith("finetuned") or not row["game"]:
            continue
        if measure.endswith(("_over_2", "_shift")):
            continue
        doubts = doubts_in(row["note"])
        player, model = row["player"], row["model"]
        if condition == "base":
            condition = "reasoning"
        if real and condition == "reasoning":
            # The unsanitized baseline of the sanitization tables is the plain window.
            real = ""
        if condition.startswith("asymmetric"):
            history = ""
        if measure == "paranoia_ratio":
            doubts = (*doubts, HOW_AVERAGED)
        if measure == "forward_ratio":
            player, model = f"{model.split('_')[2]} settings", ""
        cell = (row["game"], condition, history, real, player, measure)
        yield Published(
            cell, model or None, value, number(row["std"]), row["table"], row["label_status"], doubts
        )


def _sweep(played: Sequence[Episode], payable: set[str]) -> Iterator[Own]:
    plain = [e for e in played if e.alike and e.memory.name == "window" and e.style in CONDITIONS]
    for (agent, game, style, length), of in grouped(
        plain, lambda e: (e.agent, e.game, str(e.style), e.length)
    ).items():
        for value, (measure, scale) in POINTS.items():
            if value == "cooperation" or game in payable:
                cell = (GAMES[game][0], CONDITIONS[style], str(length), "", "", measure)
                yield from _own(cell, agent, estimate(of, value), scale, of)


def _mixed(played: Sequence[Episode]) -> Iterator[Own]:
    reasoned = [e for e in played if e.style == "reasoned" and e.memory.name == "window"]
    for company in companies(reasoned):
        short, long = min(company.lengths), max(company.lengths)
        if len(set(company.lengths)) != 2:
            continue
        few, many = company.lengths.count(short), company.lengths.count(long)
        condition = f"asymmetric_{few}xHL{short}_{many}xHL{long}"
        of = [
            e for e in reasoned
            if (e.agent, e.game, _whole(e)) == (company.agent, company.game, list(company.lengths))
        ]  # fmt: skip
        for player, measure, found in (
            ("", "cooperation_rate", company.overall),
            ("forgiver", "cooperation_rate", company.forgiver),
            ("grudge_holder", "cooperation_rate", company.grudge_holder),
            ("", "cooperation_gap_pp", company.gap),
        ):
            cell = (GAMES[company.game][0], condition, "", "", player, measure)
            yield from _own(cell, company.agent, found, 100.0, of)


def _sanitized(played: Sequence[Episode]) -> Iterator[Own]:
    cleaned = [e for e in played if e.memory.name == "sanitized" and e.style == "reasoned"]
    for (agent, game, mode, window, real), of in grouped(
        cleaned, lambda e: (e.agent, e.game, e.memory.mode, e.memory.length, e.memory.real)
    ).items():
        whole = real == window
        condition = "reasoning" if whole else f"sanitized_{mode}"
        cell = (GAMES[game][0], condition, str(window), "" if whole else str(real), "", "cooperation_rate")
        yield from _own(cell, agent, estimate(of), 100.0, of)


def _penalty(played: Sequence[Episode]) -> Iterator[Own]:
    for found in penalties(played):
        if found.length == LENGTH:
            cell = (
                GAMES[found.game][0],
                "reasoning_minus_no_reasoning",
                str(LENGTH),
                "",
                "",
                "deliberation_penalty_pp",
            )
            of = [e for e in played if (e.agent, e.game, e.length) == (found.agent, found.game, LENGTH)]
            # The paper prints reasoning minus no reasoning.
            yield from _own(cell, found.agent, found.penalty, -100.0, of)


def _words(data: RunData, played: Sequence[Episode]) -> Iterator[Own]:
    """Appendix Table 8 pools the four games, so only a run that has all four can be set beside it."""
    for row in _counted(data, ["agent", "history_length"]):
        cells = [
            e
            for e in played
            if (e.agent, e.length, e.style) == (row["agent"], row["history_length"], "reasoned")
        ]
        if {e.game for e in cells} != set(GAMES):
            continue
        for measure, column in WORDS.items():
            if row[column] is not None:
                cell = ("all", "reasoning", str(row["history_length"]), "", "", measure)
                yield Own(cell, row["agent"], row[column], None, None, None, len({e.match for e in cells}))


def _forward(data: RunData, played: Sequence[Episode]) -> Iterator[Own]:
    """The mean forward-looking ratio at history length 80 of immune and cursed settings (agent, game)."""
    reasoned = [e for e in played if e.style == "reasoned" and e.alike and e.memory.name == "window"]
    verdicts: dict[tuple[str, str], str] = {}
    for (agent, game), of in grouped(reasoned, lambda e: (e.agent, e.game)).items():
        rates = {
            length: found.value
            for length, at in grouped(of, lambda e: e.length).items()
            if length is not None and (found := estimate(at)) is not None
        }
        name = regime(rates).name
        if name is not None and LENGTH in rates:
            verdicts[agent, game] = name
    ratio = f"{RATIOS[0].name}_of_sums"
    ratios = {
        (row["agent"], row["game"]): row[ratio]
        for row in _counted(data, ["agent", "game", "history_length"])
        if row["history_length"] == LENGTH and row[ratio] is not None
    }
    for name in ("immune", "cursed"):
        values = [ratios[key] for key, verdict in verdicts.items() if verdict == name and key in ratios]
        if values:
            cell = ("all", "reasoning", str(LENGTH), "", f"{name} settings", "forward_ratio")
            matches = {
                e.match for e in reasoned if e.length == LENGTH and verdicts.get((e.agent, e.game)) == name
            }
            yield Own(cell, None, sum(values) / len(values), None, None, None, len(matches))


def _counted(data: RunData, by: list[str]) -> list[dict[str, Any]]:
    """Sums over the traces of reasoned replies; nothing where no model was called."""
    if not data.rows["calls"]:
        return []
    rows = trace_summary(data, trace_table(data), [*by, "agent_style"])
    return [row for row in rows if row["agent_style"] == "reasoned"]


def _own(
    cell: Cell, agent: str, found: Estimate | None, scale: float, of: Sequence[Episode]
) -> Iterator[Own]:
    if found is None:
        return
    ends = [None if end is None else end * scale for end in (found.low, found.high)]
    low, high = ends if scale > 0 else ends[::-1]
    share = sum(e.by_policy for e in of) / len(of) if of else 0.0
    doubts = (
        (f"{100 * share:.0f} % of the actions were given by the policy",) if share >= POLICY_DOUBT else ()
    )
    spread = None if found.sd is None else abs(found.sd * scale)
    yield Own(cell, agent, found.value * scale, low, high, spread, found.matches, doubts)


def _whole(e: Episode) -> list[int]:
    return sorted(n for n in e.company if n is not None)


REFERENCE = MemoryCurse
