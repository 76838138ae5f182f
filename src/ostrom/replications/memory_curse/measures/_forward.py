"""Forward-looking ratio by regime: word_ratio with the setting (agent and game) and its regime as columns."""

from __future__ import annotations

from dataclasses import replace

from ostrom.analysis.measure import Rows, measures
from ostrom.data.rundata import RunData
from ostrom.replications.memory_curse.regimes import observed_regimes

RATIO = measures.named("word_ratio")


def values(data: RunData) -> Rows:
    """Every row of the ratio; a setting is judged by its observed rates, immune or cursed as the paper's rule says."""
    settings = {
        (agent, game): (r.printed, r.name)
        for (game, style, agent), r in observed_regimes(data).items()
        if style == "reasoned"
    }
    seats = {
        (row["match"], row["player"]): (row["agent"], row["game"])
        for row in data.records("SELECT match, player, agent, game FROM matches")
    }
    for row in RATIO.rows(data):
        setting = seats[row["match"], row["player"]]
        printed, name = settings.get(setting, (None, None))
        yield {**row, "setting": " in ".join(map(str, setting)), "papers_rule": printed, "regime": name}


FORWARD_RATIO = replace(
    RATIO,
    name="memory_forward_ratio",
    values=values,
    columns=(*RATIO.columns, "setting", "papers_rule", "regime"),
    source="Liu et al. (2026), Figure 3a and Appendix D.4",
)
