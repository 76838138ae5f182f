"""The repeated games beside their published figures; every own figure here is worked out by hand."""

import json
import re
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from ostrom.analysis.references import published_rows
from ostrom.data.rundata import run_data
from ostrom.features.comparing import Comparison, Line, compare_run, references
from ostrom.features.importing import import_rounds
from ostrom.games import build_game
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.replications.repeated_games.figures import in_step
from ostrom.replications.repeated_games.moves import BOS, Match, Side, always
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

PD = "prisoners_dilemma"


def options(request: Request) -> list[str]:
    return re.findall(r"\[\w+\]", request.messages[-1].content.rpartition("Valid answers:")[2])


def firm(request: Request) -> str:
    """The first option, whatever happens."""
    return options(request)[0]


def swayed(request: Request) -> str:
    """Cooperates where options are R and H and points are no coins; with Q, X and coins in round 2 alone."""
    given, text = options(request), " ".join(message.content for message in request.messages)
    if "coins" in text:
        return given[0] if "[Q]" in given and "This is round 2 of" in text else given[1]
    return given[0] if "[R]" in given else given[1]


@pytest.fixture(autouse=True)
def models() -> Iterator[None]:
    register("firm", firm)
    register("swayed", swayed)
    register("second", lambda request: options(request)[1])
    yield
    unregister("firm")
    unregister("swayed")
    unregister("second")


def compared(folder: Path, *chosen: str, reference: str | None = None) -> Comparison:
    with open_run(folder) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        return compare_run(data, chosen, reference)


def played(folder: Path, name: str, types: str, changes: list[str], model: str = "firm") -> Path:
    """A built-in study of a scripted model ``m`` and some strategies."""
    both = f"types={{m: {{model: scripted/{model}}}, {types}}}"
    play(load_study(name, changes=[both, *changes]), runs=folder)
    return folder / name


def line(made: Comparison, agent: str, game: str, measure: str) -> Line:
    (found,) = [one for one in made.lines if one.own.agent == agent and one.cell == ("", game, measure)]
    return found


def bare(name: str, types: dict[str, Any], rounds: int, **more: Any) -> dict[str, Any]:
    game = {"name": PD, "preset": "repeated_games"}
    rules = {"name": "repetition", "rounds": rounds, "told_rounds": True}
    report = {"reference": "repeated_games"}
    return {
        "name": name,
        "game": game,
        "mechanism": rules,
        "types": types,
        "seating": "ordered",
        "report": report,
        **more,
    }


def test_one_player_against_all_others_by_the_published_recipe(tmp_path: Path) -> None:
    play(load_study(bare("contest", {"c": "cooperator", "d": "defector"}, 2)), runs=tmp_path)
    made = compared(tmp_path / "contest", "d=GPT-4")
    # The defector: rounds of seat 1 are 10, 10 and 5, 5, last rounds of seat 2 are 10 and 5; so its mean is 7.5
    # and its variance 6 x 2.5^2 / 5. The cooperator: 8, 8, 0, 0, and 8 and 0; mean 4, variance 6 x 4^2 / 5.
    first, second = 6 * 2.5**2 / 5, 6 * 4**2 / 5
    error = first / 6 + second / 6
    t, df = 3.5 / sqrt(error), error**2 / (((first / 6) ** 2 + (second / 6) ** 2) / 5)
    one = line(made, "d", PD, "t_against_all_others")
    assert one.own.value == pytest.approx(t) and one.value == 3.91 and one.own.matches == 3
    assert line(made, "d", PD, "df_against_all_others").own.value == pytest.approx(df)
    d = line(made, "d", PD, "d_against_all_others")
    assert d.own.value == pytest.approx(3.5 / sqrt((first + second) / 2)) and d.value == 0.33
    assert line(made, "d", PD, "d_ci_low_against_all_others").own.value == d.own.low
    assert any("match totals: t(33) 2.01" in doubt for doubt in one.doubts)
    # Per match the defector has 20, 20, 10, 10 and the cooperator 16, 16, 0, 0: t = 7 / sqrt(25 / 3 + 64 / 3).
    (doubt,) = one.own.doubts
    assert doubt.endswith("with match totals as the unit t(5.0) = 1.29, p = 0.255")
    assert any("others pooled" in doubt and "80.0" in doubt for doubt in one.doubts)
    bayes = line(made, "d", PD, "bf_against_all_others")
    assert bayes.value == 7.1 and any("6.13" in doubt for doubt in bayes.doubts)


def test_several_tournaments_are_not_thrown_together(tmp_path: Path) -> None:
    vary = {"labels": {"set": "agent.framing.labels", "to": ["JF", "QX"]}}
    play(load_study(bare("two", {"c": "cooperator", "d": "defector"}, 2, vary=vary)), runs=tmp_path)
    made = compared(tmp_path / "two")
    assert not any("against_all_others" in one.cell[-1] for one in made.lines)
    assert any("2 tournaments (labels)" in remark for remark in made.remarks)


def test_points_that_never_vary_are_said(tmp_path: Path) -> None:
    play(load_study(bare("flat", {"a": "cooperator", "b": "cooperator"}, 2)), runs=tmp_path)
    remarks = compared(tmp_path / "flat").remarks
    assert any(remark.startswith(f"Not compared: a against all others in {PD}") for remark in remarks)


def test_forgiving_one_defection_is_counted_after_it(tmp_path: Path) -> None:
    folder = played(tmp_path, "pd-tournament", "once: defect_once, f: defector", ["mechanism.rounds=4"])
    made = compared(folder, "GPT-4")
    one = line(made, "m", PD, "cooperations_after_first_defection")
    # It cooperates in all of the three rounds that are left, in either seat; who always defects does not count.
    assert (one.own.value, one.value, one.own.matches) == (3.0, 0.0, 2)


def test_games_are_told_by_their_payoffs_however_the_study_spells_them(tmp_path: Path) -> None:
    spelled = {
        "name": "harvest",
        "actions": ["grab", "share"],  # the other way round, and nothing is marked as cooperative
        "payoffs": {"grab, grab": [5, 5], "grab, share": [10, 0], "share, grab": [0, 10], "share, share": [8, 8]},
    }
    (tmp_path / "harvest.yaml").write_text(json.dumps(spelled))
    once = {"name": "script", "moves": ["grab", "share", "share", "share"]}
    study = bare("spelled", {"m": {"model": "scripted/share"}, "once": {"strategy": once}}, 4, seating="seats")
    register("share", lambda _: "share")
    labels = {"framing": {"labels": "actions"}, "style": "direct", "constrain": "never"}
    play(load_study({**study, "game": str(tmp_path / "harvest.yaml"), "agent": labels}), runs=tmp_path)
    unregister("share")
    one = line(compared(tmp_path / "spelled", "GPT-4"), "m", PD, "cooperations_after_first_defection")
    assert (one.own.value, one.value) == (3.0, 0.0)


def side(agent: str, seat: int, actions: str, **more: Any) -> Side:
    said = {"style": None, "strategy": None, "model": None, **more}
    return Side(agent, seat, actions=tuple(actions), cooperative=(None,) * len(actions), **said)


def test_in_step_means_to_the_end_and_from_seat_1() -> None:
    social = side("m", 1, "JJJJJFJFJF", style="social", model="x")
    script = side("s", 2, "JFJFJFJFJF", strategy="alternator")
    found = [Match(0, BOS, (social, script))]
    (own,) = in_step(found)
    assert (own.cell, own.agent, own.value) == (("", BOS, "first_alternating_round"), "m", 5.0)
    turned = [
        Match(0, BOS, (side("s", 1, "FJFJ", strategy="alternator"), side("m", 2, "FJFJ", style="social", model="x")))
    ]
    assert list(in_step(turned)) == []


def test_who_never_gets_in_step_makes_the_median_later() -> None:
    """Two of three players never do: the median is the round after the last, not the round of the third."""
    script = side("s", 2, "JFJF", strategy="alternator")
    played = ["JFJF", "JJJJ", "FFFJ"]
    found = [Match(n, BOS, (side("m", 1, acts, style="social", model="x"), script)) for n, acts in enumerate(played)]
    (own,) = in_step(found)
    assert own.value == 5.0 and own.doubts == ("never in 2 of 3 matches, counted as the round after the last",)
    (sure,) = in_step(found[:1])
    assert sure.value == 1.0 and sure.alike and not sure.doubts


def test_a_mean_of_few_matches_has_the_interval_of_the_estimate(tmp_path: Path) -> None:
    types = "alternate: alternator"
    made = compared(played(tmp_path, "bos-tournament", types, ["mechanism.rounds=4", "seating=seats"]))
    (alone,) = [x.own for x in made.lines if x.cell[-1] == "coordination_rate"]
    assert (alone.value, alone.matches, alone.low, alone.high) == (0.5, 1, None, None)


def test_who_alternates_once_is_no_alternating_script() -> None:
    steady = side("b", 2, "JJJ")
    chance = [Match(0, BOS, (side("a", 1, "JFJ"), steady)), Match(1, BOS, (side("a", 1, "JJF"), steady))]
    assert always(chance, BOS, Side.alternates) == set()
    assert always(chance[:1], BOS, Side.alternates) == {"a"}
    model = [Match(0, BOS, (side("a", 1, "JFJ", model="x"), steady))]
    assert always(model, BOS, Side.alternates) == set()


def test_predictions_of_an_alternating_script(tmp_path: Path) -> None:
    predictor = "vary.predictor={set: mechanism.predict, to: [players, observer]}"
    changes = ["vary.game=[battle_of_the_sexes]", "mechanism.rounds=3", "seating=ordered", predictor]
    made = compared(played(tmp_path, "prediction", "alternate: alternator", changes), "GPT-4")
    for who, value in (("player", 5.0), ("observer", 3.0)):
        one = line(made, "m", BOS, f"first_correct_round_as_{who}")
        # It predicts J: of J F J all are right from round 3 on, of F J F never, which is after round 3.
        assert (one.own.value, one.value) == (3.5, value)
        assert "never in" in one.own.doubts[0] and "released" in one.doubts[0]
    player = line(made, "m", BOS, "first_correct_round_as_player")
    assert player.own.doubts == ("never in 1 of 2 series, counted as the round after the last",)
    assert not player.own.alike


def test_overall_scores_contradict_their_own_columns() -> None:
    figures = references.build("repeated_games").published()
    overall = [f for f in figures if f.cell[0] == "overall"]
    assert len(overall) == 5 and all(any("weighted mean" in d for d in f.doubts) for f in overall)
    (sure,) = [f for f in figures if f.model == "Llama 2" and f.cell[0] == "win_win"]
    assert sure.status == "verified" and not sure.doubts


def test_one_model_against_another_over_all_games(tmp_path: Path) -> None:
    changes = ["vary.game={from: ordinal_2x2, numbers: 1-3}", "mechanism.rounds=2"]
    made = compared(
        played(tmp_path, "games-2x2", "other: {model: scripted/second}", changes), "m=GPT-4", "other=Claude 2"
    )  # fmt: skip
    pair = "m against other"
    # The model plays its first option, so the pair meets in (1, 2) where it sits first and in (2, 1) where second.
    gaps: list[float] = []
    for number in (1, 2, 3):
        paid = build_game(f"ordinal_2x2:{number}").payoffs
        gaps += [(paid[0, 1, 0] - paid[0, 1, 1]) / 4, (paid[1, 0, 1] - paid[1, 0, 0]) / 4]
    mean = sum(gaps) / 6
    t = mean / sqrt(sum((gap - mean) ** 2 for gap in gaps) / 5 / 6)
    one = line(made, pair, "all families", "t_against_one_model")
    assert one.own.value == pytest.approx(t) and one.own.matches == 6 and one.value == 3.34
    assert "structural zeros" in " ".join(one.doubts) and "with games as the unit t(2) =" in one.own.doubts[0]
    d = line(made, pair, "all families", "d_against_one_model")
    assert d.own.value == pytest.approx(t / sqrt(6)) and d.value == 0.2
    assert line(made, pair, "all families", "df_against_one_model").own.value == 5
    back = [x for x in made.lines if x.own.agent == "other against m" and x.cell[1] == "all families"]
    assert back == []  # the paper has no test of Claude 2 against GPT-4


def test_every_published_row_is_compared_or_named(tmp_path: Path) -> None:
    """35 cells of Table 1, 13 of 14 tests of contests, 21 of 28 over all games, 7 claims, 29 of people."""
    figures = references.build("repeated_games").published()
    assert len(figures) == 35 + 13 + 21 + 7 + 29 and len(published_rows("repeated_games")) == 55 + 28 + 32 + 13 + 1
    play(load_study(bare("any", {"c": "cooperator", "d": "defector"}, 2)), runs=tmp_path)
    remarks = "\n".join(compared(tmp_path / "any").remarks)
    for told in ("(32 figures)", "(13 figures)", "printed as inequalities"):
        assert told in remarks


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "expected"),
    [
        ("pd", {"t": (3.916, 3.91), "df": (153.443, 153.4), "d": (0.326, 0.33), "bf": (6.125, 7.1)}),
        ("bos", {"t": (2.830, 2.83), "df": (128.279, 128.28), "p": (0.005, 0.005), "bf": (3.562, 3.56)}),
    ],
)
def test_the_released_rounds_give_the_published_figures(
    game: str, expected: dict[str, tuple[float, float]], tmp_path: Path, data_folder: Path
) -> None:
    file = data_folder / "repeated-games" / f"experiment_{game}.csv"
    import_rounds([file], f"repeated-games-{game}", name=game, runs=tmp_path)
    chosen = ["act_gpt4=GPT-4", *(["act_gpt4_predictfirst=GPT-4 SCoT"] if game == "bos" else [])]
    made = compared(tmp_path / game, *chosen, reference="repeated_games")
    name = PD if game == "pd" else BOS
    for statistic, figures in expected.items():
        one = line(made, "act_gpt4", name, f"{statistic}_against_all_others")
        assert (round(one.own.value, 3), one.value) == figures
    if game == "pd":
        assert line(made, "act_gpt4", PD, "cooperations_after_first_defection").own.value == 0.0
    else:
        assert line(made, "act_gpt4", BOS, "coordination_rate").own.value == 0.5
        assert line(made, "act_gpt4_predictfirst", BOS, "first_alternating_round").own.value == 5.0
