"""`ostrom replicate`: a paper played, taken from runs, and computed from its released data."""

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import Call, caller

from ostrom.models.providers import scripted

ARM = ["replicate", "personas", "--model", "scripted/green", "--preset", "smoke", "--out", "out"]
GREEN = ("CLEAN", "REGULATE", "CAMPAIGN", "SUPPORT_GREEN")


def _green(request: Any) -> str:
    """Whatever the role, the green action."""
    (offered,) = re.findall(r'"action", one of (.*?), and "rationale"', request.messages[-1].content)
    name = next(name for name in GREEN if f'"{name}"' in offered)
    return json.dumps({"action": name, "rationale": "It is right."})


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    scripted.register("green", _green)
    return caller(monkeypatch, tmp_path)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The paper played once: its folder, and what the command printed."""
    home = tmp_path_factory.mktemp("replicate")
    scripted.register("green", _green)
    with pytest.MonkeyPatch.context() as patch:
        done = caller(patch, home)(*ARM, "--json")
    assert done.code == 0, done.err
    return home / "out", json.loads(done.out)


def _rounds(path: Path, forgiving: bool) -> None:
    """Released rounds in the shape of experiment_pd.csv: a model against a script that defects once, both seats."""
    pay = {("J", "J"): (8, 8), ("J", "F"): (0, 10), ("F", "J"): (10, 0), ("F", "F"): (5, 5)}
    rows = []
    for first, second in (("act_gpt4", "act_defect_once"), ("act_defect_once", "act_gpt4")):
        totals = [0, 0]
        for number in range(1, 11):
            model = "J" if number == 1 or forgiving else "F"
            script = "F" if number == 1 else "J"
            moves = (model, script) if first == "act_gpt4" else (script, model)
            points = pay[moves]
            totals = [total + point for total, point in zip(totals, points, strict=True)]
            rows.append([number, first, second, *moves, *points, *totals])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["round", "player1", "player2", "answer1", "answer2", "points1", "points2", "total1", "total2"])
        writer.writerows(rows)


@pytest.mark.slow
def test_a_paper_is_played_judged_and_gone_on_with(
    call: Call, tmp_path: Path, played: tuple[Path, dict[str, Any]]
) -> None:
    sizes = json.loads(call(*ARM, "--dry-run", "--json").out)
    assert sizes["calls"] == 32 and not (tmp_path / "out").exists()
    shutil.copytree(played[0], tmp_path / "out")
    made = played[1]
    assert [run["run"] for run in made["runs"]] == ["personas"] and made["runs"][0]["calls"] == 32
    assert made["runs"][0]["wording"] == "ours"
    claims = {one["claim"]: one for one in made["claims"]}
    assert len(claims) == 10
    assert made["decided"] == {"figures": 0, "of": sum(len(one["figures"]) for one in made["exhibits"])}
    figures = [figure for one in made["exhibits"] for figure in one["figures"]]
    assert figures and {figure["verdict"] for figure in figures} == {"not comparable"}
    assert all("none of the paper's models" in figure["why"] and figure["run"] == "personas" for figure in figures)
    assert made["verdicts"] == {"not comparable": len(figures)}
    page = (tmp_path / "out/page/index.html").read_text()
    assert page.index("What") and page.index(
        "Personas turn economic scenarios green, with hidden payoffs"
    ) < page.index("Table 1:")
    assert (
        '">Table 1</a>' in page
        and "0.0 to 6.7 † (4 models, mean 1.7)" in page
        and "figures could be decided at this size" in page
    )
    remarks = page[page.index("<h2>Careful (") :]
    assert remarks.index("The paper contradicts itself") < remarks.index("</details>")
    assert {".csv", ".md", ".tex"} == {path.suffix for path in (tmp_path / "out/page/tables").iterdir()}
    again = json.loads(call(*ARM, "--json").out)
    assert again["runs"] == made["runs"]
    other = call(*ARM[:-3], "paper", "--out", "out", "--dry-run")
    assert other.code == 0
    small = call(*ARM, "--model", "scripted/green")
    assert small.code == 2 and "named twice" in small.err


@pytest.mark.slow
@pytest.mark.parametrize(("forgiving", "answer"), [(False, "agrees"), (True, "differs")])
def test_released_data_are_judged_by_rounding(forgiving: bool, answer: str, call: Call, tmp_path: Path) -> None:
    _rounds(tmp_path / "experiment_pd.csv", forgiving)
    assert call("import", "experiment_pd.csv", "--mapping", "repeated-games-pd").code == 0
    done = call("replicate", "repeated-games", "--runs", "experiment_pd", "--json")
    made = json.loads(done.out)
    assert made["runs"][0] | {"usd": 0, "calls": 0} == made["runs"][0]
    assert made["runs"][0]["study"] == "pd-tournament" and made["runs"][0]["released"]
    claims = {one["claim"]: one["verdict"] for one in made["claims"]}
    assert claims["A single defection is never forgiven"] == answer
    assert {v for claim, v in claims.items() if "defection" not in claim} == {"not comparable"}
    (exhibit,) = (one for one in made["exhibits"] if one["name"] == "Forgiveness")
    (figure,) = exhibit["figures"]
    assert (figure["agent"], figure["published_model"], figure["verdict"]) == ("act_gpt4", "GPT-4", answer)


PAID = {
    "no_mechanism": {"Claude": 1.278, "Gemini-B": 1.2},
    "repetition": {"Claude": 1.75, "Gemini-B": 1.5},
    "reputation_first_order": {"Claude": 1.5, "Gemini-B": 1.5},
    "reputation": {"Claude": 1.4, "Gemini-B": 1.5},
    "mediation": {"Claude": 1.978, "Gemini-B": 1.9},
    "contracting": {"Claude": 1.75, "Gemini-B": 1.1},
}
MODELS = {
    "Claude": ("anthropic/claude-sonnet-4.5", "CoTAgent"),
    "Gemini-B": ("google/gemini-3-flash-preview", "IOAgent"),
}


def _tournaments(folder: Path) -> None:
    """Payoff files in the shape of the release, two runs of the Prisoner's Dilemma with the means ``PAID``."""

    def player(name: str, seat: int) -> dict[str, Any]:
        model, kind = MODELS[name]
        return {"llm": {"model": model, "kwargs": {}}, "type": kind, "player_id": seat}

    for run, shift in (("run1", -0.25), ("run2", 0.25)):
        for mechanism, paid in PAID.items():
            means = {name: mean + shift for name, mean in paid.items()}
            rounds = 15 if mechanism.startswith("rep") else 1
            profile: list[dict[str, Any]] = [
                {"players": [player(one, 1), player(two, 2)], "payoffs": [[[means[one], means[two]]] * rounds]}
                for one in MODELS
                for two in MODELS
            ]
            if mechanism.startswith("reputation"):
                profile = [
                    {"player": player(name, seat), "points": [means[name]] * rounds}
                    for name in MODELS
                    for seat in (1, 2)
                ]
            text = json.dumps({"discount": 0.8 if rounds > 1 else None, "profile": profile})
            for game in ("prisoners_dilemma", "stag_hunt"):
                place = folder / run / f"{mechanism}_{game}"
                place.mkdir(parents=True)
                (place / "matchup_payoffs.json").write_text(text)


@pytest.mark.slow
def test_released_tournaments_are_judged_by_payoffs(call: Call, tmp_path: Path) -> None:
    _tournaments(tmp_path / "data")
    assert call("import", "data", "--mapping", "coopeval", "--name", "released").code == 0
    done = call("replicate", "coopeval", "--runs", "released", "--json")
    made = json.loads(done.out)
    assert made["runs"][0]["study"] == "mechanisms" and made["runs"][0]["released"], done.err
    claims = {(one["claim"], one["agent"]): one for one in made["claims"]}
    judged = {key: one["verdict"] for key, one in claims.items() if one["run"]}
    assert len(judged) == 13 and {one["low"] for one in claims.values()} == {None}
    # All defecting pays 1 and all cooperating 2. Gemini-B loses by contracts, and does not lose by varying co-players.
    most = "Contracting and mediation are more effective than all other mechanisms"
    assert {key for key, verdict in judged.items() if verdict != "agrees"} == {
        ("Without a mechanism models defect", "Claude"),  # .278 beside .111: 57 % of the distance to one half
        ("Nor do they cooperate without reasoning", "Gemini-B"),  # .2 beside .133
        ("Mechanisms are more effective under evolution", "all agents"),  # .04 and .12, a third of the printed gain
        ("Contracting brings cooperation", "Gemini-B"),
        ("Repetition brings cooperation", "Gemini-B"),  # .30, half of the printed .517
        ("Repetition falls apart when co-players vary", "Gemini-B"),
        (most, "Gemini-B"),
        (most, "Claude"),
    }
    # The release holds more games than the claims are about; its payoffs are no percentages.
    alone = claims["Without a mechanism models defect", "Claude"]
    assert alone["value"] == pytest.approx(0.278) and ("Without a mechanism models defect", "Gemini-B") not in claims
    mediation = claims["Mediation brings cooperation", "Claude"]
    assert mediation["value"] == pytest.approx(0.7) and mediation["question"].startswith("normalised_score")
    assert mediation["published"]["Claude"] == pytest.approx(0.863 - 0.111)
    (exhibit,) = (one for one in made["exhibits"] if one["name"] == "Per-game table")
    figures = {
        (figure["mechanism"], figure["agent"]): figure
        for figure in exhibit["figures"]
        if figure["measure"] == "mean_payoff" and figure["agent"]
    }
    no = {agent: figures["NoMechanism", agent] for agent in MODELS}
    assert {agent: (one["published_model"], one["verdict"]) for agent, one in no.items()} == {
        "Claude": ("Claude", "agrees"),
        "Gemini-B": ("Gemini-B", "differs"),
    }
    assert "judged by Normalised score: the" in " ".join(made["remarks"])
    for named, problem in (
        ("nobody=Claude", "unknown agent 'nobody'"),
        ("Claude=Claud", "model 'Claud' (did you mean"),
    ):
        done = call("replicate", "coopeval", "--runs", "released", "--as", named)
        assert done.code == 2 and problem in done.err and done.err.count("\n") == 1


def test_runs_with_nothing_to_compare_are_refused(call: Call, tmp_path: Path) -> None:
    smaller = "types={a: cooperator, b: defector}", "mechanism.rounds=2"
    done = call("run", "pd-tournament", *(part for one in smaller for part in ("--set", one)), "--name", "scripts")
    assert done.code == 0, done.err
    done = call("replicate", "repeated-games", "--runs", "scripts", "--out", "page")
    assert done.code == 2 and not (tmp_path / "page").exists()
    assert done.err.count("\n") == 1 and "nothing can be compared with Playing repeated games" in done.err
    assert "No model played in the run." in done.err
