"""Twenty episodes each through the real verifiers, OpenEnv and PettingZoo: the tables of a run with the same answers.

`make interop` installs each package apart and names the folder of these environments in OSTROM_ENVIRONMENTS.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.features.environments.test_episodes import DUEL, rows, with_model, written

import ostrom
from ostrom.testing.server import LoopbackServer

STUDY = {
    **DUEL,
    "agent": {"framing": {"labels": "draw"}},
    "vary": {"agent.style": ["direct", "reasoned"]},
    "types": {"llm": {"model": "outside/llm"}},
    "seating": "self",
    "seeds": 10,
}
"""Twenty matches of two players who answer from outside."""
SCRIPTS = Path(__file__).parent / "scripts"
Foreign = Callable[..., Any]


@pytest.fixture
def foreign(tmp_path: Path) -> Foreign:
    """Run a script where a package is installed, on the study above; gives what it prints as JSON."""

    def run(package: str, *arguments: str, script: Path | None = None) -> Any:
        folder = os.environ.get("OSTROM_ENVIRONMENTS")
        if folder is None:
            pytest.skip(f"{package} is not installed here: make interop")
        python = Path(folder) / package / "bin" / "python"
        (tmp_path / "study.yaml").write_text(json.dumps(STUDY))
        clean = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
        done = subprocess.run(
            [python, script or SCRIPTS / f"play_{package}.py", tmp_path / "study.yaml", tmp_path, *arguments],
            capture_output=True, text=True, timeout=500, check=False, cwd=tmp_path, env=clean,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


def printed(package: str) -> str:
    """The Python that docs/seats.md prints for a package."""
    page = (Path(__file__).parents[3] / "docs" / "seats.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    (block,) = [block for block in blocks if package in block]
    return str(block)


def test_the_printed_block_for_pettingzoo_runs_as_printed(foreign: Foreign, tmp_path: Path) -> None:
    (tmp_path / "printed.py").write_text(printed("integrations.pettingzoo") + ENDED)
    assert foreign("pettingzoo", script=tmp_path / "printed.py") == {"agents": [], "rewards": True, "match 0": True}


ENDED = """
import json

from ostrom.ground.errors import UsageError

rewards = [reward for reward in env.rewards.values()]
try:
    env.reset(options={"match": 0})
    refused = False
except UsageError as error:
    refused = "match 0: nobody answers from outside in it (such matches: 3, 7, 11" in str(error)
print(json.dumps({"agents": env.agents, "rewards": bool(rewards) or not env.agents, "match 0": refused}))
"""


def assert_twenty(runs: Path, rewards: list[list[Any]]) -> ostrom.Run:
    """The run that was kept has twenty matches, the tables of `ostrom run`, and these rewards by match and player."""
    usual = ostrom.play(with_model(STUDY, written), name="usual", runs=runs, progress=False)
    own = ostrom.open_run("outside", runs)
    assert rows(own, "matches") == rows(usual, "matches") and len(own.matches) == 2 * 20
    assert rows(own, "decisions") == rows(usual, "decisions") != []
    scores = own.matches.select("match", "player", "score").rows()
    assert sorted(map(tuple, rewards)) == sorted(scores) and len({score for *_, score in scores}) > 2
    return own


def test_verifiers_plays_twenty_episodes(foreign: Foreign, tmp_path: Path) -> None:
    with LoopbackServer() as server:
        told = foreign("verifiers", server.url)
    assert told["ok"] == 20 and told["errors"] == []
    own = assert_twenty(tmp_path, told["rewards"])
    assert told["traces"] == len(own.calls) == server.count


def test_openenv_plays_twenty_episodes(foreign: Foreign, tmp_path: Path) -> None:
    told = foreign("openenv")
    assert_twenty(tmp_path, told["rewards"])
    assert told["tasks"] == 20 and told["first"]["seed"] == 0 and told["first"]["cell"] == {"style": "direct"}


def test_a_stranger_reaches_no_episode_of_another_client(foreign: Foreign) -> None:
    told = foreign("openenv", "strangers")
    assert told["asked"] == [[1, None], [0, 1]]
    assert "CAPACITY_REACHED" in told["third"] or "capacity" in told["third"].lower()
    assert told["page"] == told["other_host"] == 403 and told["reset"] == 404
    assert told["socket"] == "refused" and told["unguarded"] == "refused" and told["with_password"] == "asked"


def test_pettingzoo_plays_twenty_episodes(foreign: Foreign, tmp_path: Path) -> None:
    told = foreign("pettingzoo")
    assert_twenty(tmp_path, told["rewards"])
    assert told["conforms"]
