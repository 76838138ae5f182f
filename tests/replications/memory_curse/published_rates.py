"""The published rates of Liu et al. (2026) as input for our own measures: their verdicts and ours must agree.

Four rows of Appendix Table 1 are missing from the source. What other tables say about them fills the gaps;
for the two pairs about which no table prints a rate, the printed rewards bound it. With p the cooperation
rate and m the mean reward: in the Prisoner's Dilemma (m - 100)/100 is the share of mutual cooperation, which
is at most p and at least 2p - 1; in the symmetric Trust game 4 + 6p <= m <= min(4 + 14p, 12 - 2p).
"""

from ostrom.analysis.references import number, published_rows
from ostrom.replications.memory_curse.regimes import Rate, Regime, regime
from ostrom.replications.memory_curse.results import LENGTH

Pair = tuple[str, str]
"""Model and game, as the tables name them."""

RANK = ("Appendix Table 1", "Appendix Table 6", "Appendix Table 13", "Appendix D.1 (prose)", "Appendix Table 9")
"""Where a rate is taken from, best first: the full tables, then what fills their gaps."""


def published_rates(condition: str = "reasoning", *, matched: bool = False) -> dict[Pair, dict[int, Rate]]:
    """Cooperation rates, as shares, by model and game and then by history length; bounds where only rewards
    are known. ``matched`` takes the rate that the reward implies if both players always act alike.

    >>> published_rates()["Mistral-7B", "public_goods"][80]
    0.503
    """
    found: dict[Pair, dict[int, tuple[int, float]]] = {}
    pairs: dict[Pair, None] = {}
    for row in published_rows("memory_curse"):
        if not row["game"] or row["game"] == "all":
            continue
        pairs[row["model"], row["game"]] = None
        value = number(row["value"])
        plain = row["condition"] == condition and row["history_length"].isdigit() and not row["player"]
        if row["metric"] != "cooperation_rate" or not plain or row["table"] not in RANK or value is None:
            continue
        of = found.setdefault((row["model"], row["game"]), {})
        rank, length = RANK.index(row["table"]), int(row["history_length"])
        if length not in of or rank < of[length][0]:
            of[length] = rank, value / 100
    rates: dict[Pair, dict[int, Rate]] = {
        pair: {length: value for length, (_, value) in sorted(of.items())} for pair, of in found.items()
    }
    for pair in pairs:
        if pair not in rates and (bounds := _from_rewards(pair, condition, matched)):
            rates[pair] = bounds
    return rates


def published_regimes(*, matched: bool = False) -> dict[Pair, Regime]:
    """Our verdict on the published rates.

    >>> verdict = published_regimes()["GPT-OSS-20B", "trust_game"]
    >>> verdict.printed, verdict.name
    ('cursed', 'memory-bounded')
    """
    return {pair: regime(rates) for pair, rates in published_rates(matched=matched).items()}


def published_penalties() -> dict[str, dict[str, float]]:
    """No reasoning minus reasoning at history length 80, by model and game, where both rates are printed.

    >>> round(published_penalties()["Llama-3.3-70B"]["trust_game"], 3)
    0.931
    """
    with_, without = published_rates("reasoning"), published_rates("no_reasoning")
    found: dict[str, dict[str, float]] = {}
    for (model, game), rates in with_.items():
        reasoned, direct = rates.get(LENGTH), without.get((model, game), {}).get(LENGTH)
        if isinstance(reasoned, float) and isinstance(direct, float):
            found.setdefault(model, {})[game] = direct - reasoned
    return found


def _from_rewards(pair: Pair, condition: str, matched: bool) -> dict[int, Rate]:
    model, game = pair
    bounds: dict[int, Rate] = {}
    for row in published_rows("memory_curse"):
        if (row["model"], row["game"], row["condition"], row["metric"]) == (model, game, condition, "mean_reward"):
            reward = number(row["value"])
            if reward is not None and (known := _rate(game, reward, matched)) is not None:
                bounds[int(row["history_length"])] = known
    return bounds


def _rate(game: str, reward: float, matched: bool) -> Rate | None:
    if game == "prisoners_dilemma":
        both = (reward - 100) / 100
        return both if matched else (both, (1 + both) / 2)
    if game == "trust_game":
        alike = min((reward - 4) / 6, 1.0)
        return alike if matched else ((reward - 4) / 14, min(alike, (12 - reward) / 2))
    return None
