"""`ostrom evolve` and `ostrom judge` as people run them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostrom.features.evolution.replicator import exponential_replicator
from ostrom.testing.replies import answer, prompt_of
from ostrom.testing.server import LoopbackServer

Command = Callable[..., "subprocess.CompletedProcess[str]"]

STUDY = """
name: tour
game: {name: prisoners_dilemma, preset: coopeval}
types: {c: cooperator, d: defector}
seating: ordered
vary: {mechanism: [none, {name: reputation, rounds: 2}]}
"""


def test_evolve_prints_json_of_a_run_alone_and_explains_societies(ostrom: Command, tmp_path: Path) -> None:
    (tmp_path / "tour.yaml").write_text(STUDY)
    assert ostrom("run", "tour.yaml").returncode == 0
    done = ostrom(
        "more", "evolve", "tour", "--json", "--out", "out", "--start", "c=0.9,d=0.1", "--steps", "20"
    )
    assert done.returncode == 0, done.stderr
    first, society = json.loads(done.stdout)["tournaments"]
    expected = exponential_replicator([[2.0, 0.0], [3.0, 1.0]], [0.9, 0.1], steps=20).final.tolist()
    assert list(first["final"].values()) == expected and first["mean"] == {"c": 1.0, "d": 2.0}
    assert society["society"] and society["why"].startswith("all types live in one society")
    assert (tmp_path / "out" / "trajectories.csv").read_text().count("\n") == 1 + 2 * 21
    table = ostrom("more", "evolve", "tour", "--by", "mechanism")
    assert table.returncode == 0 and "reputation: all types live in one society" in table.stderr


def test_evolve_walks_a_folder_and_exits_1_when_a_file_is_wrong(ostrom: Command, tmp_path: Path) -> None:
    def profile(first: str, second: str, payoffs: list[int]) -> dict[str, Any]:
        players = [{"model": first, "player_id": 1}, {"model": second, "player_id": 2}]
        return {"players": players, "payoffs": [[payoffs]]}

    whole = {
        "discount": None,
        "profile": [
            profile("a", "a", [2, 2]), profile("a", "b", [0, 3]), profile("b", "a", [3, 0]), profile("b", "b", [1, 1]),
        ],
    }  # fmt: skip
    folder = tmp_path / "files" / "pd"
    folder.mkdir(parents=True)
    (folder / "one.json").write_text(json.dumps(whole))
    (folder / "averages.json").write_text('{"a": 1.0}')
    done = ostrom("more", "evolve", "files", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["tournaments"][0]["cell"] == {"file": "pd/one.json"}
    assert report["tournaments"][0]["mean"] == {"a": 1.0, "b": 2.0}
    assert report["not_payoff_files"] == ["pd/averages.json"]
    (folder / "part.json").write_text(json.dumps({**whole, "profile": whole["profile"][:2]}))  # type: ignore[index]
    (folder / "wrong.json").write_text('{"profile": [1]}')
    done = ostrom("more", "evolve", "files", "--json")
    assert done.returncode == 1
    assert len(json.loads(done.stdout)["tournaments"]) == 2
    assert "pd/part.json: 1 cells of the payoff tensor were never played: b against b" in done.stderr
    assert "wrong.json: profile[0]: must be an object" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nowhere",), "there is no such run"),
        (("f.json", "--dynamics", "drift"), "unknown dynamics 'drift'"),
        (("f.json", "--dynamics", "deviation", "--eta", "1"), "takes no setting 'eta'"),
        (("f.json", "--start", "a"), "--start 'a'"),
        (("f.json", "--by", "game"), "--by and --expected are for runs"),
        (("f.json", "--discount", "x"), "--discount 'x'"),
        (("f.json", "--format", "xml"), "--format 'xml'"),
    ],
)
def test_wrong_use_of_evolve_is_one_line(
    ostrom: Command, tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "f.json").write_text('{"profile": []}')
    done = ostrom("more", "evolve", *arguments)
    assert done.returncode == 2 and complaint in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and not done.stdout


def test_judge_writes_a_table_and_flags_the_model_that_judges_itself(ostrom: Command, tmp_path: Path) -> None:
    def respond(body: dict[str, Any]) -> str:
        if "which motives" in prompt_of(body):
            return '{"labels": ["own_utility"], "confidence": 0.5, "explanation": "says so"}'
        return (
            "I weigh what each of us would gain from either choice, again and again, at some length.\n"
            + answer(body)
        )

    study = "name: talk\ngame: prisoners_dilemma\ntypes: {{m: {{model: '{}'}}}}\n"
    with LoopbackServer(respond) as server:
        (tmp_path / "talk.yaml").write_text(study.format(server.model))
        assert ostrom("run", "talk.yaml").returncode == 0
        before = server.count
        judging = ("judge", "talk", "--model", server.model, "--passes", "2", "--name", "x", "--dry-run")
        forecast, shown = ostrom(*judging, "--json"), ostrom(*judging)
        assert server.count == before and not (tmp_path / "runs" / "talk" / "judge-x").exists()
        done = ostrom(
            "more", "judge", "talk", "--model", server.model, "--passes", "2", "--name", "x", "--json"
        )
        again = ostrom("more", "judge", "talk", "--model", server.model, "--passes", "2", "--name", "x")
        refused = ostrom("more", "judge", "talk", "--model", server.model, "--name", "x")
    assert forecast.returncode == 0, forecast.stderr
    bound = json.loads(forecast.stdout)
    assert (bound["decisions"], bound["judgements"]) == (2, {"planned": 4, "due": 4})
    assert bound["calls"] == 4 and bound["tokens_in"] > 1000 and bound["tokens_out"] == 4 * 1000
    assert shown.returncode == 0 and "judge-x: what it takes" in shown.stdout
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["judgements"] == {"planned": 4, "done": 4, "without_labels": 0, "self_judged": 4}
    assert "4 of 4 judgements are by the model that played" in done.stderr
    shares = {s["motive"]: s["share"] for s in report["shares"] if s["factor"] == "mechanism"}
    assert shares["own_utility"] == 1.0 and shares["none"] == 0.0
    assert (tmp_path / "runs" / "talk" / "judge-x" / "judged.parquet").exists()
    assert again.returncode == 0 and "4 calls" in again.stderr
    assert refused.returncode == 1 and "holds another study" in refused.stderr
