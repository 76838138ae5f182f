"""`ostrom evolve` and `ostrom judge` as people run them."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., "subprocess.CompletedProcess[str]"]

STUDY = """
name: tour
game: {name: prisoners_dilemma, preset: coopeval}
types: {c: cooperator, d: defector}
seating: ordered
vary: {mechanism: [none, {name: reputation, rounds: 2}]}
"""


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
    moran = [
        json.loads(ostrom("more", "evolve", "files", "--dynamics", "moran", "--selection", strength, "--json").stdout)
        for strength in ("0", "0.5")
    ]
    assert moran[0]["tournaments"] != moran[1]["tournaments"]  # 0 is drift, .5 favours the defector
    (folder / "part.json").write_text(json.dumps({**whole, "profile": whole["profile"][:2]}))  # type: ignore[index]
    (folder / "wrong.json").write_text('{"profile": [1]}')
    done = ostrom("more", "evolve", "files", "--json")
    assert done.returncode == 1
    assert len(json.loads(done.stdout)["tournaments"]) == 2
    assert "pd/part.json: 1 cells of the payoff tensor were never played: b against b" in done.stderr
    assert "wrong.json: profile[0]: must be an object" in done.stderr
