"""Every claim of the paper is judged: a model that does as GPT-4 agrees, its contrary differs."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.replications import claims
from tests.replications.claims import verdicts
from tests.replications.repeated_games.rules import RULES, Rule, gpt4, predicted, read

from ostrom.data.rundata import run_data
from ostrom.features.importing import import_rounds
from ostrom.features.replicate.pages import claim_row
from ostrom.features.replicate.papers import paper_plan
from ostrom.reports.declared import panel_of
from ostrom.reports.exhibits.declared import exhibits_of
from ostrom.studies.run import open_run

judged = partial(claims.judged, "repeated-games")
PLAN = paper_plan("repeated-games")[1]
PEOPLE = {claim.claim for claim in PLAN.claims if claim.run == "people"}
FAMILIES = {claim.claim for claim in PLAN.claims if claim.run == "all-games"}
QUICK = ("prisoners-dilemma", "battle-of-the-sexes", "prediction", "hints")


def played(home: Path, rule: Rule, parts: Sequence[str]) -> list[Path]:
    return claims.played("repeated-games", home, {"ruled": rule}, parts)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("rule", "answer"), [("gpt4", "agrees"), ("contrary", "differs")])
def test_who_plays_as_gpt4_agrees_and_its_contrary_differs(rule: str, answer: str, tmp_path: Path) -> None:
    found = verdicts(judged(played(tmp_path, RULES[rule], QUICK)))
    assert len(found) == 8 and set(map(tuple, found.values())) == {(answer,)}, found


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "answer"), [("gpt4", "agrees"), ("contrary", "differs")])
def test_all_families_and_wordings_are_judged_at_the_default_size(rule: str, answer: str, tmp_path: Path) -> None:
    made = judged(played(tmp_path, RULES[rule], ("all-games", "wordings")))
    found = verdicts(made)
    assert len(found) == 6 and set(found) > FAMILIES
    rows = [claim_row(line) for line in made.claims]
    assert len({row[0] for row in rows}) == len(rows)  # a claim about two stories names them
    assert {row[0]: row[7] for row in rows}["Nor in any wording"] == 27
    assert set(map(tuple, found.values())) == {(answer,)}, found


def _late(request: Any) -> str:
    """As GPT-4, but it predicts the alternation from round 9 on."""
    now = read(request)
    return f"[{predicted(now, 9, 0)}]" if "predict" in now.text and "which you watch" not in now.text else gpt4(request)


def test_who_predicts_late_coordinates_too_little(tmp_path: Path) -> None:
    made = judged(played(tmp_path, _late, ("battle-of-the-sexes",)))
    (line,) = (line for line in made.claims if line.claim.claim.startswith("Predicting the other player first"))
    assert line.estimate is not None and line.estimate.value == pytest.approx(0.1) and not line.direction_alone
    assert line.verdict.answer == "differs" and "effect is smaller" in line.verdict.why


def test_claims_without_a_run_say_so_and_sections_are_named(tmp_path: Path) -> None:
    made = judged(played(tmp_path, gpt4, ("hints",)))
    assert {line.verdict.why for line in made.claims if line.claim.claim in PEOPLE} == {
        "There is no run of the study repeated-games-people."
    }
    missing = {name for of in made.not_played.values() for name in of}
    assert {"Table 1", "Figure 2", "Figure 6", "Figure 7b", "Supplement A.5", "Supplementary Figure 3"} <= missing
    assert "Told of mistakes or of the plan" not in missing


def _people(path: Path, social: str) -> None:
    """Rounds of 80 people in the shape of the release, who fare better with the opponent ``social``."""
    rows = ["id,game,action,score,opponent,guess,coordination"]
    for person in range(80):
        opponent = ("Base", "Prompted")[person % 2]
        better = opponent == social
        together = 4 + (person // 2) % 3 + 3 * better
        joint = 2 + (person // 2) % 3 + 2 * better
        guess = int((person // 2) % 4 < (3 if better else 1))
        for number in range(10):
            both = number < together
            action = number % 2
            score = 0 if not both else 7 if action else 10
            rows.append(f"p{person},bos,{action},{score},{opponent},{guess},{int(both)}")
        for number in range(10):
            # About as many points: who cooperates jointly more often is exploited once.
            action, score = (1, 8) if number < joint else (1, 0) if number == 9 and better else (0, 5)
            rows.append(f"p{person},pd,{action},{score},{opponent},{guess},0")
    path.write_text("\n".join(rows) + "\n")


MAPPING = Path(__file__).parents[3] / "src/ostrom/replications/repeated_games/mappings/repeated-games-human.yaml"


@pytest.mark.sample(1)
@pytest.mark.parametrize("released", [True, False])
@pytest.mark.parametrize(("social", "answer"), [("Prompted", "agrees"), ("Base", "differs")])
def test_people_are_judged_in_released_rounds_and_in_ones_own(
    social: str, answer: str, released: bool, tmp_path: Path
) -> None:
    _people(tmp_path / "rounds.csv", social)
    (tmp_path / "own.yaml").write_text(MAPPING.read_text())
    mapping = "repeated-games-human" if released else str(tmp_path / "own.yaml")
    import_rounds([tmp_path / "rounds.csv"], mapping, name="repeated-games-people", runs=tmp_path)
    made = judged([tmp_path / "repeated-games-people"])
    assert made.runs[0].study == "repeated-games-people" and (made.runs[0].released is not None) is released
    equal = "Not in the Prisoner's Dilemma"
    assert verdicts(made) == {claim: {"agrees" if claim == equal else answer} for claim in PEOPLE}
    lines = {line.claim.claim: line for line in made.claims}
    assert len(lines) == len(PLAN.claims)  # a claim about people is judged once, whoever else plays
    score = lines["People score more in the Battle of the Sexes against SCoT"]
    assert score.agent == "you" and [other.value for other in score.published] == [0.74]


RELEASED = {"pd": "repeated-games-pd", "bos": "repeated-games-bos"}


def imported(home: Path, source: Path, game: str) -> Path:
    """Released rounds as a run, by the documented command's function."""
    import_rounds([source], RELEASED[game], name=game, runs=home)
    return home / game


@pytest.mark.slow
def test_the_release_agrees_with_every_claim_and_a_damaged_copy_differs(tmp_path: Path, data_folder: Path) -> None:
    files = {game: data_folder / "repeated-games" / f"experiment_{game}.csv" for game in RELEASED}
    whole = judged([imported(tmp_path / "whole", files[game], game) for game in RELEASED])
    assert set(map(tuple, verdicts(whole).values())) == {("agrees",)} and len(verdicts(whole)) == 3
    figures = [cell for _, cells in whole.exhibits for cell in cells]
    apart = [cell for cell in figures if cell.verdict.answer != "agrees"]
    # The documented doubt: a Bayes factor that the release does not give.
    assert [(cell.line.value, cell.verdict.answer) for cell in apart] == [(7.1, "differs")]
    assert "in doubt" in apart[0].verdict.why
    # A contrast is the difference of the levels that stand beside it.
    lines = {line.claim.claim: line for line in whole.claims}
    turns = lines["It does not take turns with an alternating player"].estimate
    social = lines["Predicting the other player first raises coordination (SCoT, player 1)"].estimate
    assert turns is not None and social is not None and (turns.value, round(social.value, 9)) == (0.5, 0.3)

    header, *rounds = files["pd"].read_text().splitlines()
    gone = [n for n, row in enumerate(rounds) if ",act_gpt4,act_defect_once," in row or ",act_gpt4,act_j," in row]
    assert len(gone) == 20
    damaged = tmp_path / "experiment_pd.csv"
    damaged.write_text("\n".join([header, *(row for n, row in enumerate(rounds) if n not in gone)]) + "\n")
    made = judged([imported(tmp_path / "damaged", damaged, "pd")])
    (contest,) = (cells for one, cells in made.exhibits if one.name == "Contest in the Prisoner's Dilemma")
    answers = {cell.line.cell[-1].removesuffix("_against_all_others"): cell.verdict.answer for cell in contest}
    assert {"t", "df"} <= {name for name, answer in answers.items() if answer == "differs"}, answers


def _sweep(path: Path) -> None:
    """The released payoff sweep: GPT-4 keeps the option that it prefers, the script alternates."""
    rows = ["round,payoff,player1,player2,answer1,answer2,points1,points2,total1,total2"]
    for level, (mine, theirs) in enumerate([(10, 7), (9, 8), (8, 8), (8, 9), (7, 10)], 1):
        totals = [0, 0]
        for number in range(1, 11):
            model, script = "J" if level < 4 else "F", "JF"[(number - 1) % 2]
            points = (0, 0) if model != script else (mine, theirs) if model == "J" else (theirs, mine)
            totals = [total + point for total, point in zip(totals, points, strict=True)]
            rows.append(
                f"{number},{level},GPT-4,Alternate,{model},{script},{points[0]},{points[1]},{totals[0]},{totals[1]}"
            )
    path.write_text("\n".join(rows) + "\n")


def _stories(folder: Path) -> list[Path]:
    """The released stories: GPT-4 keeps its favourite in nine wordings of each."""
    units = {"game": "points dollars coins", "cooking": "points votes tokens", "project": "points score progress"}
    files = []
    for story, names in units.items():
        rows = ["round,option1,option2,outcomes,player1,player2,answer1,answer2,points1,points2,total1,total2"]
        for first, second in ("JF", "QX", "RH"):
            for unit in names.split():
                for number in range(1, 11):
                    script = (first, second)[(number - 1) % 2]
                    points, met = ((10, 7) if script == first else (0, 0)), (number + 1) // 2
                    rows.append(
                        f"{number},{first},{second},{unit},GPT-4,Defect_once,{first},{script},"
                        f"{points[0]},{points[1]},{10 * met},{7 * met}"
                    )
        files.append(folder / f"experiment_robustness_checks_{story}.csv")
        files[-1].write_text("\n".join(rows) + "\n")
    return files


def test_the_released_sweep_and_stories_reach_the_supplement(tmp_path: Path) -> None:
    _sweep(tmp_path / "experiment_payoff_changes.csv")
    import_rounds([tmp_path / "experiment_payoff_changes.csv"], "repeated-games-payoffs", name="sweep", runs=tmp_path)
    import_rounds(_stories(tmp_path), "repeated-games-bos-wordings", name="stories", runs=tmp_path)
    with open_run(tmp_path / "sweep") as opened, run_data(opened.rows, tmp_path / "sweep", opened.manifest) as data:
        drawn = panel_of(_panel("Supplement A.5", 0)).draw(data)
        rows = [dict(zip(drawn.tables[0].columns, row, strict=True)) for row in drawn.tables[0].rows]
        turns = {row["payoffs"]: row["alternation"] for row in rows if row["agent"] == "GPT-4"}
    assert turns == dict.fromkeys(["10-7", "9-8", "8-8", "8-9", "7-10"], 0)
    with open_run(tmp_path / "stories") as opened, run_data(opened.rows, tmp_path / "stories", opened.manifest) as data:
        assert "file" not in data.factors
        drawn = panel_of(_panel("Supplementary Figure 3", 1)).draw(data)
        rows = [dict(zip(drawn.tables[0].columns, row, strict=True)) for row in drawn.tables[0].rows]
        assert {row["story"]: row["coordination"] for row in rows} == dict.fromkeys(["cooking", "pair", "project"], 0.5)
    found = verdicts(judged([tmp_path / "sweep", tmp_path / "stories"]))
    assert found["Nor in any wording"] == found["Another unit does not change its coordination"] == {"agrees"}


def _panel(exhibit: str, place: int) -> Any:
    (one,) = (one for one in exhibits_of("repeated_games") if one.name == exhibit)
    return one.panels[place]
