"""The published figures of the repeated games study (Akata et al. 2025), and what speaks against some of them."""

from __future__ import annotations

from collections.abc import Mapping

from ostrom.analysis.references import AGAINST

GOOD = ("yes", "near")
CONTESTS = {
    "pd.gpt4_vs_rest": "always defecting has 80.0 points a match, Claude 2 78.6, GPT-4 72.3",
    "bos.gpt4_vs_rest": "SCoT has 73.2 points a match, davinci-002 55.4, GPT-4 54.0",
}
"""Tests of GPT-4 against all others, and the mean totals of the best players in the released data."""

CLAIMS = {
    "claim.pd_unforgiving": ("GPT-4", "cooperations_after_first_defection"),
    "claim.pd_robustness": ("GPT-4", "max_joint_cooperation_in_regular_variants"),
    "claim.pd_robustness_exceptions": ("GPT-4", "n_variants_above_0.1"),
    "claim.bos_robustness": ("GPT-4", "coordination_rate"),
    "claim.bos_scot_round": ("GPT-4 SCoT", "first_alternating_round"),
    "claim.predict_as_player": ("GPT-4", "first_correct_round_as_player"),
    "claim.predict_as_observer": ("GPT-4", "first_correct_round_as_observer"),
}
"""Claims in words: of whom, and the measure."""

ALL_GAMES = "all families"
PAIRS = "allgames."
"""How the tests of GPT-4 against single models over all games are called."""

NOT_COMPARED = (
    "Not compared: numbers of matches, games and participants and their age and sex (13 figures), which describe "
    "the sample; the 1224 matches are those of three models (136 games x 9 pairs), the paper reports on five.",
    "Not compared: the p of the Prisoner's Dilemma and seven figures over all games, printed as inequalities "
    "(p < .001, BF > 100).",
)

NO_PEOPLE = (
    "Not compared: the experiment with people (32 figures). It needs people as players; besides, the stored "
    "condition is that of the opponent served in 50.2 % of the rounds that can tell, joint cooperation was coded "
    "as mutual defection, an interval is a copy of another one, and Bayes factors are one-sided."
)
PEOPLE = "human."
"""How the tests of the experiment with people are called."""


def cell_of(row: Mapping[str, str]) -> tuple[tuple[str, str, str], str | None] | None:
    """The cell (family, game, measure) and the model of a row; None for what no run of ours gives."""
    if row["kind"] == "table_cell":
        return (row["family"], "", row["statistic"]), row["model"]
    if row["test_id"] in CONTESTS:
        name = row["statistic"]
        return (
            "",
            row["game"],
            f"{'d_' if name.startswith('ci_') else ''}{name}_against_all_others",
        ), "GPT-4"
    if row["test_id"].startswith(PAIRS):
        name = f"{'d_' if row['statistic'].startswith('ci_') else ''}{row['statistic']}"
        return ("", ALL_GAMES, f"{name}_against_one_model"), row["comparison"].replace(" vs ", AGAINST)
    if row["test_id"].startswith(PEOPLE):
        return ("", row["game"], f"people_{row['test_id'].removeprefix(PEOPLE)}_{row['statistic']}"), None
    if row["id"] in CLAIMS:
        model, measure = CLAIMS[row["id"]]
        return ("", row["game"], measure), model
    return None


def doubts_of(row: Mapping[str, str]) -> tuple[str, ...]:
    """Why a figure cannot be taken at face value."""
    doubts = []
    if row["reproduced"] == "no_data":
        doubts.append("SUSPICIOUS: no data or code for it was released")
    elif row["reproduced"] not in GOOD:
        given = f" (they give {row['reproduced_value']})" if row["reproduced_value"] else ""
        what = "give it only in part" if row["reproduced"] == "partly" else "do not give it"
        doubts.append(f"CONFLICT: the released data {what}{given if what.startswith('do') else ''}")
    if row["test_id"] in CONTESTS:
        doubts.append(
            f"SUSPICIOUS: rounds are taken for independent observations; of {row['note'].split('; ')[-1]}"
        )
        doubts.append(
            f"CONFLICT: called better than all others, true of the others pooled: {CONTESTS[row['test_id']]}"
        )
    elif row["test_id"].startswith(PAIRS):
        doubts.append(
            "CONFLICT: an error of the released script mixes structural zeros or recycled vectors into the test; "
            f"{row['note']}"
        )
    elif row["test_id"].startswith(PEOPLE):
        if row["note"]:
            doubts.append(f"SUSPICIOUS: {row['note']}")
    elif row["note"] and (doubts or row["family"] == "overall" or row["kind"] == "claim"):
        doubts.append(f"CONFLICT: {row['note']}")
    if row["id"] == "claim.pd_robustness":
        doubts.append(
            "CONFLICT: the two exceptions are labels R/H with points and with dollars, not coins as stated"
        )
    return tuple(doubts)
