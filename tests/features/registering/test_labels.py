"""Every command that prints figures of a run says what a registered run is, and reading it early is on record."""

import json
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml
from tests.cli.in_process import Call, caller

import ostrom
from ostrom.analysis.measure import Measure, measures
from ostrom.analysis.registered import AskedContrast, _tested, registered_run, standing
from ostrom.data.early_looks import early_looks, record_early_look
from ostrom.features.profile.battery import folder_name
from ostrom.ground.commands import command_line_name, every_command
from ostrom.models.providers import scripted
from ostrom.studies.run import open_run

STUDY = """\
name: s
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 4}
agent: {memory: {name: window, k: 2}, style: reasoned, params: {max_tokens: 50}}
types: {a: {model: scripted/ahead}, b: {model: scripted/back}}
seating: ordered
vary: {style: {set: agent.framing.labels, to: [JF, QX]}}
seeds: 2
"""
BATTERY = {
    "name": "mine",
    "title": "Mine",
    "parts": [
        {
            "name": "one", "title": "One", "study": "own.yaml", "least": 2, "most": 2,
            "figures": [{"name": "Kind", "measure": "cooperation", "where": {"agent": "{model}"}}],
        }
    ],
}  # fmt: skip
OWN = """\
name: own
game: prisoners_dilemma
agent: {style: direct, params: {max_tokens: 10}}
types: {friend: cooperator, foe: defector}
seating: versus
"""
GATES = "gates: [{name: a, measure: cooperation, at_least: 0}]"
AGENTS = ("--primary", "cooperation: agent a - b != 0")
OF_TYPES = ("--primary", "cooperation: opponents friend - foe != 0 where agent=scripted/ahead")
PERSONAS = ("--primary", "score: role government - citizen != 0")

ASKED = {
    "run": ("run", "s.yaml", "--registered", "r.yaml"),
    "resume": ("resume", "s"),
    "report": ("report", "s"),
    "estimate": ("estimate", "s", "cooperation"),
    "test": ("test", "s", "cooperation", "--factor", "agent"),
    "compare": ("compare", "s", "free"),
    "pool": ("pool", "s", "free"),
    "gate": ("gate", "s", "--gates", "gates.yaml"),
    "replicate": ("replicate", "personas", "--runs", "p", "--out", "replicated"),
    "export": ("export", "s", "--format", "csv", "--out", "exported"),
    "judge": ("judge", "s", "--model", "scripted/judge", "--shortest", "1"),
    "traces": ("traces", "s"),
    "infer": ("infer", "s", "--resamples", "100", "--no-compare"),
    "evolve": ("evolve", "s"),
    "branch": ("branch", "s", "--match", "0", "--at", "2"),
    "attribute": ("attribute", "s", "--match", "0", "--round", "2", "--samples", "1"),
    "observe": ("observe", "s", "--model", "scripted/first", "--match", "0"),
    "robustness": ("robustness", "s", "--contrast", "agent"),
    "profile": ("profile", "--battery", "mine.yaml", "--model", "scripted/ahead", "--out", "profiled"),
    "corpus": ("corpus", "s", "--judge", "scripted/lexicon", "--out", "corpus"),
}
"""Commands that print figures of a run, each asked of one that is bound to a registration."""
NO_FIGURES = {
    "new validate list show play models": "of no run",
    "power": "of a study that is planned",
    "register": "says what the others repeat",
    "serve pilot people": "studies with people cannot be registered",
    "seat openenv": "play for agents outside, and print no figure",
    "import": "what was played elsewhere cannot be bound",
    "join check batches transcript": "counts, and single matches",
    "tree author train regress": "of precomputed players, stories and adapters",
    "view": "pages, below",
}
"""What prints none, and why."""


def _models() -> Iterator[None]:
    def first(request: Any, chance: float = 0.0) -> str:
        labels = sorted({*re.findall(r"\[\w+\]", request.messages[-1].content)})
        return str(labels[int(chance * len(labels))])

    scripted.register("first", first)
    scripted.register("ahead", lambda request: f"A good reputation pays in the long-term.\n{first(request)}")
    moves = random.Random(0)
    scripted.register("back", lambda request: f"I copy what the other did.\n{first(request, moves.random())}")
    scripted.register("judge", '{"labels": [], "confidence": 0.5, "explanation": ""}')
    yield
    for name in ("first", "ahead", "back", "judge"):
        scripted.unregister(name)


def _answer_personas(request: Any) -> str:
    (offered,) = re.findall(r'"action", one of (.*?), and "rationale"', request.messages[-1].content)
    return json.dumps({"action": re.findall(r'"(\w+)"', offered)[0], "rationale": "It is right."})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a registered run, the same run unregistered, and one that is not complete."""
    folder = tmp_path_factory.mktemp("labels")
    models = _models()
    next(models)
    (folder / "s.yaml").write_text(STUDY)
    (folder / "gates.yaml").write_text(GATES)
    with pytest.MonkeyPatch.context() as patch:
        call = caller(patch, folder)
        assert call("register", "s.yaml", *AGENTS, "--out", "r.yaml").code == 0
        assert call("run", "s.yaml", "--registered", "r.yaml").code == 0
        assert call("run", "s.yaml", "--name", "free").code == 0
        assert call("run", "s.yaml", "--registered", "r.yaml", "--name", "open", "--limit", "3").code == 1
    yield folder
    next(models, None)


@pytest.fixture
def call(home: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    return caller(monkeypatch, home)


def test_no_command_is_forgotten() -> None:
    """A new command is asked here, or it is said why it prints no figure of a run."""
    listed = [*ASKED, *(name for names in NO_FIGURES for name in names.split())]
    assert sorted(listed) == sorted({words.split()[0] for words in every_command()})


def _asked(call: Call, name: str) -> None:
    _prepare(call, name)
    done = call(*command_line_name(name).split(), *ASKED[name][1:], "--json")
    decided = 3 if name == "compare" else 0  # two matches a cell decide nothing
    assert done.code == decided, done.err
    told = json.loads(done.out)
    assert told["label"] == "exploratory"
    if name in ("run", "resume"):
        assert told["registration"] == yaml.safe_load(Path("r.yaml").read_text())["hash"]
    else:
        (one,) = told["registered"]
        assert one["status"] == "confirmatory" and "thrown away" in one["limits"]
    done = call(*command_line_name(name).split(), *ASKED[name][1:])
    assert done.code == decided, done.err
    assert "xploratory" in done.out + done.err or "Confirmatory, no deviation found" in done.out + done.err


def _prepare(call: Call, name: str) -> None:
    """Runs of a paper and of a battery that are bound to registrations of their own."""
    if name == "replicate":
        scripted.register("green", _answer_personas)
        stated = ("personas", "--preset", "smoke", "--model", "scripted/green")
        assert call("register", *stated, *PERSONAS, "--out", "p.yaml").code == 0
        assert call("run", "personas", "--registered", "p.yaml", "--name", "p").code == 0
    if name == "profile":
        Path("own.yaml").write_text(OWN)
        Path("mine.yaml").write_text(yaml.safe_dump(BATTERY))
        stated = ("own.yaml", "--model", "scripted/ahead", "--seeds", "2")
        assert call("register", *stated, *OF_TYPES, "--out", "own-r.yaml").code == 0
        place = ("--runs", f"profiled/{folder_name('scripted/ahead')}", "--name", "one")
        done = call("run", "own.yaml", "--registered", "own-r.yaml", *place)
        assert done.code == 0, done.err


@pytest.mark.parametrize("name", ["traces", "export"])
def test_an_answer_says_what_it_is(call: Call, name: str) -> None:
    _asked(call, name)


def test_the_files_of_a_gate_say_it_and_those_of_other_runs_do_not(call: Call) -> None:
    files = ("--junit", "gates.xml", "--markdown", "gates.md")
    assert call("gate", "s", "--gates", "gates.yaml", *files).code == 0
    held = {one.get("name"): one.get("value", "") for one in ET.parse("gates.xml").iter("property")}
    assert held["label"] == "exploratory"
    assert held["registered"].startswith("Confirmatory, no deviation found; registration ")
    text = Path("gates.md").read_text()
    assert f"\n\n`{held['registered']}` These gates are exploratory.\n\n" in text
    assert call("gate", "free", "--gates", "gates.yaml", *files).code == 0
    assert "propert" not in Path("gates.xml").read_text() and "exploratory" not in Path("gates.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ASKED if name not in ("traces", "export")])
def test_every_answer_says_what_it_is(call: Call, name: str) -> None:
    _asked(call, name)
    folder = {"replicate": "replicated", "profile": "profiled"}.get(name)
    for page in [] if folder is None else Path(folder).rglob("index.html"):
        text = page.read_text()
        assert text.index("Confirmatory, no deviation found") < text.index("Everything below is exploratory")


EARLY = ("estimate", "traces", "infer", "evolve", "branch", "observe", "robustness", "export", "judge", "report")


@pytest.mark.slow
@pytest.mark.parametrize("name", EARLY)
def test_who_reads_results_early_leaves_a_look(call: Call, name: str, home: Path) -> None:
    looks = home / "runs/open/early_looks.jsonl"
    looks.unlink(missing_ok=True)
    asked = ["open" if word == "s" else word for word in ASKED[name][1:]]
    done = call(*command_line_name(name).split(), *asked)
    assert done.code in (0, 1), done.err
    assert len(looks.read_text().splitlines()) == 1


def test_python_says_it(home: Path) -> None:
    run = ostrom.open_run(home / "runs/s")
    assert run.registered is not None and run.registered.status == "confirmatory"
    assert set(run.estimate("cooperation", by=["agent"])["label"]) == {"exploratory"}
    assert run.contrast("cooperation", "agent", "a - b")["label"].to_list() == ["confirmatory"]
    assert run.contrast("cooperation", "agent", "a - b", level=0.9)["label"].to_list() == ["exploratory"]
    assert run.contrast("cooperation", "agent", "a - b", where={"style": "JF"})["label"].to_list() == ["exploratory"]
    assert run.test("cooperation", "agent").label == "exploratory"
    assert "What follows is exploratory." in run._repr_html_()
    free = ostrom.open_run(home / "runs/free")
    assert free.registered is None and "label" not in free.estimate("cooperation").columns
    assert free.test("cooperation", "agent").label == "" and "exploratory" not in free._repr_html_()


def test_what_several_runs_say_together_was_not_registered(home: Path) -> None:
    asked = AskedContrast("cooperation", "agent=a-b", None, 0.95)
    with ostrom.open_run(home / "runs/s").data() as one, ostrom.open_run(home / "runs/free").data() as other:
        assert standing([one], asked).label == "confirmatory"
        assert standing([one, other], asked).label == standing([one]).label == "exploratory"


def test_absence_rests_on_two_tests_at_the_level_of_one(home: Path) -> None:
    with ostrom.open_run(home / "runs/s").data() as data:
        bound = registered_run(data)
        assert bound is not None
        one = bound.registration.primary[0].model_copy(update={"smallest": 0.05})
        told = _tested(data, bound.registration, "primary", one)
    assert told.estimate is not None and told.within is not None
    assert [told.estimate.level, told.within.level] == pytest.approx([0.95, 0.9])


def test_looks_are_recorded_of_a_run_that_is_bound_and_open(home: Path, tmp_path: Path) -> None:
    with open_run(home / "runs/open") as run:
        record_early_look(tmp_path, run.rows, {**run.manifest, "registered": None})
        assert not early_looks(tmp_path)
        for _ in range(2):
            record_early_look(tmp_path, run.rows, run.manifest)
            assert [(look.ended, look.open) for look in early_looks(tmp_path)] == [(3, True)]


def test_a_measure_that_only_bears_the_name_is_exploratory(home: Path) -> None:
    known = measures.named("cooperation")
    other = Measure("cooperation", known.title, known.scale, known.definition, known.values, known.bounds)
    run = ostrom.open_run(home / "runs/s")
    assert run.contrast(other, "agent", "a - b")["label"].to_list() == ["exploratory"]


def test_a_shared_run_says_it(call: Call) -> None:
    shutil.rmtree("shared", ignore_errors=True)
    assert call("export", "s", "--format", "shared", "--out", "shared/one").code == 0
    (one,) = json.loads(call("estimate", "shared/one", "cooperation", "--json").out)["registered"]
    assert one["status"] == "confirmatory" and one["deviations"] == []
