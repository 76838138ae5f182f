"""Payoff files of foreign tournaments become a run: compared, reported and evolved like any other."""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ostrom.data.rundata import run_data
from ostrom.features.comparing import compare_run
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.base import match_score
from ostrom.replications.coopeval.importers.tournaments import (
    describe_file,
    import_tournaments,
    load_tournament_mapping,
)
from ostrom.replications.coopeval.payoff_readers.tournaments import foreign_tournament, parse_tournament
from ostrom.reports.declared import panels
from ostrom.studies.run import open_run

MODELS = (("anthropic/claude-sonnet-4.5", "CoTAgent"), ("google/gemini-3-flash-preview", "IOAgent"))


def player(kind: int, seat: int) -> dict[str, Any]:
    model, style = MODELS[kind]
    return {"llm": {"model": model, "kwargs": {"temperature": 1}}, "type": style, "player_id": seat}


def pairs(rounds: Sequence[Sequence[float]], discount: float | None = None) -> dict[str, Any]:
    listed = [{"players": [player(a, 1), player(b, 2)], "payoffs": [rounds]} for a, b in product((0, 1), repeat=2)]
    return {"discount": discount, "profile": listed}


def society(points: Sequence[Sequence[float]], discount: float = 0.8) -> dict[str, Any]:
    """Two types with a member at each of two seats."""
    members = [(kind, seat) for kind in (0, 1) for seat in (1, 2)]
    return {
        "discount": discount,
        "profile": [{"player": player(*member), "points": row} for member, row in zip(members, points, strict=True)],
    }


def put(folder: Path, name: str, content: Any, config: Any = None) -> Path:
    path = folder / name / "matchup_payoffs.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))
    if config is not None:
        (path.parent / "config.json").write_text(json.dumps(config))
    return path


POINTS = [[0, 1, 2], [2, 2, 0], [3, 1, 1], [0, 1, 2]]


class TestSocieties:
    def test_members_and_their_points_are_one_match(self) -> None:
        read = parse_tournament(society(POINTS, 0.7), "f.json")
        assert read.society and len(read.matches) == 1 and read.matches[0].scores[0] == pytest.approx(
            match_score([0, 1, 2], 0.7)
        )  # fmt: skip
        means = foreign_tournament(read, "f.json").means()
        assert means["anthropic/claude-sonnet-4.5 CoTAgent"] == pytest.approx(
            (match_score([0, 1, 2], 0.7) + match_score([2, 2, 0], 0.7)) / 2
        )

    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            (lambda c: c["profile"][1].pop("points"), r"profile\[1\]: .* player and points \(it has player\)"),
            (lambda c: c["profile"][1]["points"].append(1), r"profile\[1\].points: has 4 payoffs"),
            (lambda c: c["profile"].append(pairs([[1, 1]])["profile"][0]), "mixes members of a society"),
            (lambda c: c["profile"][0]["points"].__setitem__(1, "x"), "must be a finite number"),
            (lambda c: c["profile"][0].__setitem__("points", []), "at least one payoff"),
            (lambda c: c["profile"].__setitem__(1, 7), r"it is no object"),
        ],
    )
    def test_what_is_wrong_is_named(self, change: Any, complaint: str) -> None:
        content = json.loads(json.dumps(society(POINTS)))
        change(content)
        with pytest.raises(StudyError, match=complaint):
            parse_tournament(content, "f.json")


class TestAbout:
    @pytest.mark.parametrize(
        ("folder", "mechanism", "game"),
        [
            ("run1/no_mechanism_trust_game", "none", "trust"),
            ("run1/reputation_first_order_stag_hunt", "reputation", "stag_hunt"),
            ("abl/ablation_abl_repetition_d07_prisoners_dilemma", "repetition", "prisoners_dilemma"),
        ],
    )
    def test_the_folder_says_it(self, folder: str, mechanism: str, game: str, tmp_path: Path) -> None:
        place = describe_file(put(tmp_path, folder, {}), load_tournament_mapping("coopeval")[0])
        rules = place.mechanism if isinstance(place.mechanism, dict) else {"name": place.mechanism}
        kind = place.game if isinstance(place.game, str) else place.game["name"]
        assert (rules["name"], kind) == (mechanism, game)
        if "d07" in folder:
            assert (rules["discount"], rules["told_continuation"], place.window) == (0.7, 0.7, 3)
            assert place.mechanism_name == "repetition discount 0.7"
        if "first" in folder:
            assert rules["order"] == "first"

    def test_the_configuration_goes_before_the_folder(self, tmp_path: Path) -> None:
        config = {
            "game": {"type": "PublicGoods"},
            "mechanism": {"type": "Repetition", "kwargs": {"discount": 0.9, "lookup_depth": 2}},
        }
        path = put(tmp_path, "no_mechanism_trust_game", {}, config)
        place = describe_file(path, load_tournament_mapping("coopeval")[0])
        assert (place.game, place.window, place.mechanism_name) == (
            "public_goods", 2, "repetition discount 0.9 window 2",
        )  # fmt: skip

    def test_a_folder_that_says_nothing_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(StudyError, match="says which game it is of"):
            describe_file(put(tmp_path, "first", {}), load_tournament_mapping("coopeval")[0])


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Two runs of two mechanisms in one game, as they were released."""
    data = tmp_path / "data"
    for run in ("run1", "run2"):
        put(data, f"{run}/no_mechanism_prisoners_dilemma", pairs([[1, 1]]))
        put(data, f"{run}/reputation_first_order_prisoners_dilemma", society([[2] * 15] * 4))
        put(data, f"{run}/repetition_prisoners_dilemma", pairs([[2, 2]] * 14 + [[0, 3]], 0.8))
    (data / "run1" / "batch_summary.json").write_text("{}")
    return data


def test_a_release_becomes_a_run_with_scores_of_every_match(release: Path, tmp_path: Path) -> None:
    done = import_tournaments([release], "coopeval", name="in", runs=tmp_path / "runs")
    assert done.folder is not None and (done.matches, done.rounds) == (2 * 9, 2 * (4 + 15 + 60))
    assert any("batch_summary.json" in note for note in done.notes)
    assert any("identical" in note for note in done.notes)
    with open_run("in", tmp_path / "runs") as run:
        rows = list(run.rows.matches())
    assert {row["agent"] for row in rows} == {"Claude", "Gemini-B"}
    assert {(r["mechanism"], r["seed"], r["rounds_played"]) for r in rows} == {
        (name, seed, length)
        for name, length in (("no_mechanism", 1), ("reputation_first_order", 15), ("repetition", 15))
        for seed in (0, 1)
    }
    repeated = next(r for r in rows if r["mechanism"] == "repetition" and r["seat"] == 1)
    assert repeated["score"] == pytest.approx(match_score([2.0] * 14 + [0.0], 0.8))
    assert {r["cooperation"] for r in rows} == {None}


@pytest.mark.slow
def test_it_is_compared_reported_and_evolved_like_any_run(release: Path, tmp_path: Path) -> None:
    import_tournaments([release], "coopeval", name="in", runs=tmp_path / "runs")
    with open_run("in", tmp_path / "runs") as run, run_data(
        run.rows, run.folder.path, run.manifest
    ) as data:  # fmt: skip
        found = {(line.cell, line.own.agent): line for line in compare_run(data).lines}
        scores, evolution = (panels.build(f"mechanisms_{name}").draw(data) for name in ("scores", "evolution"))
    line = found[("NoMechanism", "prisoners_dilemma", "", "mean_payoff"), "Claude"]
    assert (line.own.value, line.model) == (1.0, "Claude")
    society_line = found[("Reputation-", "prisoners_dilemma", "", "mean_payoff_normalised"), None]
    assert society_line.own.value == pytest.approx(1.0)
    assert scores.tables and evolution.figures


def test_one_wrong_file_is_named_and_may_be_left_out(release: Path, tmp_path: Path) -> None:
    wrong = put(release, "run3/contracting_prisoners_dilemma", {"profile": [{"player": 1, "score": 2}]})
    done = import_tournaments([release], "coopeval", name="in", runs=tmp_path / "runs")
    (cause,) = done.refused
    assert done.folder is None and str(cause).startswith(f"{wrong}: profile[0]: must be an object with")
    left = import_tournaments([release], "coopeval", name="in", runs=tmp_path / "runs", bad_rows="skip")
    assert left.folder is not None and left.matches == 18


def test_payoffs_that_the_game_never_pays_are_said(tmp_path: Path) -> None:
    put(tmp_path / "data", "run1/no_mechanism_prisoners_dilemma", pairs([[7, 7]]))
    done = import_tournaments([tmp_path / "data"], "coopeval", name="in", runs=tmp_path / "runs")
    assert "4 rounds pay what game prisoners_dilemma never pays: was it played with other payoffs?" in done.notes
