"""A run names the packages of its parts, is read without them, and a command that is refused changes nothing."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.replications.packages import install
from tests.view.viewed import viewed

from ostrom import commands
from ostrom.engine.folder import Folder
from ostrom.ground.errors import OstromError, RunError
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

ROOT = Path(__file__).parents[2]
GAME = """\
from ostrom.games.amounts import Amounts
from ostrom.games.function import Due, End, FunctionGame


def build(most=6):
    def play(now):
        (one,) = yield [Due(0, "first", Amounts(0, most))]
        (two,) = yield [Due(1, "second", Amounts(0, most), {"seen": one})]
        return End((one * FACTOR, two * 1.0))

    return FunctionGame("relay", (Amounts(0, most),) * 2, play, stages=("first", "second"))
"""
POINTS = "[ostrom.games]\nrelay = relays.relay:build\n"
STUDY = """\
name: relays
game: {name: relay, most: 9}
mechanism: {name: repetition, rounds: 2}
agent: {strategy: random}
seeds: 3
"""
RULES = """\
from ostrom.mechanisms.base import Mechanism, act, profile_of
from ostrom.mechanisms.protocol import History, Outcome, Round, View


class Fading(Mechanism):
    name = "fading"

    def __init__(self, rounds: int = 2, state: str = "open") -> None:
        self.rounds, self.state = rounds, state

    def weights(self, rounds):
        return [(rounds - place) / (rounds * (rounds + 1) / 2) for place in range(rounds)]

    def play(self, game, streams):
        rounds = []
        for number in range(1, self.rounds + 1):
            past = History(rounds)
            answers = yield [act(View(game, seat, self.name, number, past)) for seat in range(game.seats)]
            profile = profile_of(game, answers)
            rounds.append(Round(number, profile, game.payoff(profile), tuple(range(game.seats))))
        paid = [sum(w * r.payoffs[s] for w, r in zip(self.weights(len(rounds)), rounds)) for s in range(game.seats)]
        return Outcome(rounds, tuple(paid))

    def most_decisions(self, game):
        return self.rounds * game.seats
"""
NETWORK = """\
class Chain:
    def links(self, members, rng):
        return [{near for near in (one - 1, one + 1) if 0 <= near < members} for one in range(members)]
"""
STYLE = """\
from ostrom.agents.language import Style
from ostrom.answers import Answer
from ostrom.models.providers.python import register

register("silent", lambda messages: "")


class First(Style):
    name = "first"

    def __init__(self, which: int = 0) -> None:
        self.which = which

    async def answer(self, agent, decision, context):
        return Answer(decision.form.options[self.which], "exact")
"""
FILES = {
    "many/__init__.py": "", "many/fading.py": RULES, "many/chain.py": NETWORK, "many/first.py": STYLE,
    "many/prompts/__init__.py": "", "many/prompts/mechanisms/fading.txt": "Early rounds count more.\n",
}  # fmt: skip
MANY = """\
[ostrom.mechanisms]
fading = many.fading:Fading
[ostrom.networks]
chain = many.chain:Chain
[ostrom.styles]
first = many.first:First
[ostrom.prompts]
many = many.prompts
"""
RANDOM = {"strategy": "random:0.5"}
STUDIES: dict[str, dict[str, Any]] = {
    "ostrom.mechanisms.fading": {
        "mechanism": {"name": "fading", "rounds": 3, "state": "shut", "predict": "observer"}, "agent": RANDOM,
    },
    "ostrom.networks.chain": {"mechanism": {"name": "society", "network": "chain", "rounds": 2, "members": 6},
                              "agent": RANDOM},
    "ostrom.styles.first": {"mechanism": {"name": "repetition", "rounds": 2},
                            "agent": {"model": "python/silent", "style": "first:1"}},
}  # fmt: skip


def ostrom(folder: Path, *arguments: str, installed: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, with a package installed or not."""
    path = os.pathsep.join([*([] if installed is None else [str(installed)]), str(ROOT / "src")])
    return subprocess.run(
        [sys.executable, "-m", "ostrom", *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    files = {"relays/__init__.py": "", "relays/relay.py": GAME.replace("FACTOR", "2.0")}
    files["relays/prompts/__init__.py"] = ""
    return install(site, "relays", files, POINTS)


@pytest.mark.slow
def test_a_run_names_its_packages_and_is_read_without_them(site: Path, tmp_path: Path) -> None:
    (tmp_path / "relays.yaml").write_text(STUDY)
    played = ostrom(tmp_path, "run", "relays.yaml", installed=site)
    assert played.returncode == 0, played.stderr
    manifest = json.loads((tmp_path / "runs" / "relays" / "run.json").read_text())
    assert manifest["parts"] == {"ostrom.games.relay": "relays 1.0"}
    assert manifest["shapes"][0]["actions"][0]["high"] == 9
    tables = []
    for place in (site, None):
        exported = ostrom(
            tmp_path, "export", "relays", "--format", "csv", "--out", f"out{place is None}", installed=place
        )
        assert exported.returncode == 0, exported.stderr
        tables.append(sorted((p.name, p.read_bytes()) for p in (tmp_path / f"out{place is None}").rglob("*.csv")))
    assert tables[0] == tables[1] and len(tables[0]) >= 2
    refused = ostrom(tmp_path, "check", "relays")
    assert refused.returncode != 0 and "needs relays 1.0" in refused.stderr and "unknown game" not in refused.stderr
    again = ostrom(tmp_path, "resume", "relays")
    assert again.returncode != 0 and "needs relays 1.0" in again.stderr and "unknown game" not in again.stderr
    reported = ostrom(tmp_path, "report", "relays", installed=site)
    assert reported.returncode == 0, reported.stderr
    page = next((tmp_path / "runs" / "relays").rglob("*.html")).read_text()
    assert "games.relay: relays 1.0" in page


@pytest.mark.slow
def test_a_refused_command_changes_nothing(site: Path, tmp_path: Path) -> None:
    (tmp_path / "relays.yaml").write_text(STUDY)
    assert ostrom(tmp_path, "run", "relays.yaml", installed=site).returncode == 0
    files = {"relays/__init__.py": "", "relays/relay.py": GAME.replace("FACTOR", "3.0")}
    changed = install(tmp_path / "site", "relays", files, POINTS)
    run = tmp_path / "runs" / "relays"
    before = (run / "run.json").read_bytes(), (run / "journal.db").read_bytes()
    refused = ostrom(tmp_path, "run", "relays.yaml", "--seeds", "301", installed=changed)
    assert refused.returncode != 0 and "the scores differ" in refused.stderr
    assert ((run / "run.json").read_bytes(), (run / "journal.db").read_bytes()) == before
    grown = ostrom(tmp_path, "run", "relays.yaml", "--seeds", "4", installed=site)
    assert grown.returncode == 0 and json.loads((run / "run.json").read_text())["study"]["seeds"] == 4


@pytest.mark.slow
@pytest.mark.parametrize("part", STUDIES)
def test_rows_are_read_without_the_package_of_a_mechanism_a_network_or_a_style(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = install(tmp_path / "site", "many", FILES, MANY)
    study = {"name": "many", "game": "prisoners_dilemma", "seeds": 3, **STUDIES[part]}
    (tmp_path / "many.yaml").write_text(json.dumps(study))
    played = ostrom(tmp_path, "run", "many.yaml", installed=site)
    assert played.returncode == 0, played.stderr
    manifest = json.loads((tmp_path / "runs" / "many" / "run.json").read_text())
    assert manifest["parts"] == {part: "many 1.0"}
    exported = ostrom(tmp_path, "export", "many", "--format", "csv", "--out", "there", installed=site)
    assert exported.returncode == 0, exported.stderr
    monkeypatch.chdir(tmp_path)  # from here on in this process, where the package is not installed
    commands.export("many", format="csv", out=Path("gone"))
    assert "needs many 1.0; its rows are read as they were written" in capsys.readouterr().err
    there, gone = ({file.name: file.read_bytes() for file in Path(out).glob("*.csv")} for out in ("there", "gone"))
    assert there == gone and len(gone) == 4
    rows = csv.DictReader((tmp_path / "there" / "matches.csv").read_text().splitlines())
    scores = [float(row["score"]) for row in rows if row["score"]]
    (estimate,) = commands.estimate(["many", "score"])["estimates"]
    assert estimate["value"] == pytest.approx(sum(scores) / len(scores))
    commands.report("many")
    for command in (commands.resume, commands.check):
        with pytest.raises(OstromError, match=r"needs many 1\.0, not installed here"):
            command("many")
    with viewed(tmp_path / "runs") as viewer:
        assert "random:0.5" in (page := viewer.page("/run/many/match/0")) or "python/silent" in page


def test_a_shape_that_a_stranger_wrote_is_refused_in_one_line(tmp_path: Path) -> None:
    study = {"name": "plain", "game": "prisoners_dilemma", "mechanism": "none", "agent": RANDOM, "seeds": 1}
    play(StudyFile.model_validate(study), runs=tmp_path)
    folder = Folder(tmp_path / "plain")
    manifest = folder.manifest()
    for key, wrong in (("shapes", [{"name": "x"}]), ("rules", [{"name": "fading", "fields": {"play": [1]}}])):
        folder.write_manifest({**manifest, key: wrong})
        with pytest.raises(RunError, match=rf"run\.json: {key}"):
            open_run("plain", tmp_path)
