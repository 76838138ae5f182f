"""`ostrom profile`: a battery sized to a budget, played and resumed, as pages; and batteries of one's own."""

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.in_process import Call, caller

from ostrom.analysis.published import PublishedCells, published_beside
from ostrom.cli.commands import run as running
from ostrom.features.profile.battery import check_figures, read_battery
from ostrom.models.providers import scripted
from ostrom.studies.factors import read_factors
from ostrom.studies.files import builtin_names
from ostrom.studies.load import load_study
from ostrom.testing.replies import answer, openai_document
from ostrom.testing.server import LoopbackServer

STUDY = """\
name: own
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 2}
agent: {style: direct, params: {max_tokens: 10}}
types: {friend: cooperator, foe: defector}
seating: versus
"""
FIGURES: list[dict[str, Any]] = [
    {"name": "Exploited", "measure": "cooperation", "where": {"agent": "{model}", "opponents": "foe"},
     "beside": [{"name": "people <b>", "value": 0.4, "source": "A (2000)"}]},
    {"name": "Reciprocity", "measure": "cooperation", "where": {"agent": "{model}"},
     "contrast": "opponents=friend-foe"},
    {"name": "Nothing", "measure": "cooperation", "where": {"agent": "nobody"}},
    {"name": "Groups", "measure": "cooperation", "where": {"agent": "{model}"}, "by": ["opponents"],
     "published": {"reference": "coopeval", "by": {"opponents": "mechanism"}, "names": {"foe": "NoMechanism"},
                   "where": {"game": "prisoners_dilemma", "setting": "", "measure": "cooperative_action_rate_pct"},
                   "scale": 0.01}},
]  # fmt: skip
VARIED = "vary={style: {set: agent.style, to: [direct, reasoned]}}"
ONCE = "vary={k: {set: agent.params.temperature, to: [1]}}"
PART = {"name": "one", "title": "One <i>", "study": "own.yaml", "least": 2, "most": 4, "figures": FIGURES}
BATTERY: dict[str, Any] = {
    "name": "mine",
    "title": "Mine",
    "parts": [
        PART,
        {**PART, "name": "two", "title": "Two", "presets": {"smoke": {"set": ["mechanism.rounds=1"], "most": 2}}},
    ],
}


def prepare(folder: Path) -> None:
    """Write the battery with its study, and register two scripted models."""
    (folder / "own.yaml").write_text(STUDY)
    (folder / "mine.yaml").write_text(yaml.safe_dump(BATTERY, sort_keys=False))
    for name in ("kind", "mixed"):
        scripted.register(name, partial(_answer, name))


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    prepare(tmp_path)
    return caller(monkeypatch, tmp_path)


def _answer(name: str, request: Any) -> str:
    """One model always takes the first label that it is offered, the other one that depends on the prompt."""
    labels = sorted(set(re.findall(r"\[(\w+)\]", request.messages[-1].content)))
    return f"[{labels[0 if name == 'kind' else len(request.messages[-1].content) % len(labels)]}]"


def profiled(call: Call, *more: str, code: int = 0) -> dict[str, Any]:
    done = call("more", "profile", "--model", "scripted/kind", "--battery", "mine.yaml", "--json", *more)
    assert done.code == code, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


@pytest.mark.slow
def test_the_same_command_goes_on_and_pays_nothing_again(call: Call) -> None:
    first = profiled(call, "--out", "p")
    before = {path: path.read_bytes() for path in Path("p").rglob("journal.db")}
    assert profiled(call, "--out", "p")["profiles"] == first["profiles"]
    assert {path: path.read_bytes() for path in Path("p").rglob("journal.db")} == before
    other = call(
        "more", "profile", "--model", "scripted/kind", "--battery", "mine.yaml", "--out", "p", "--preset", "smoke"
    )
    assert other.code == 1 and "another battery or preset" in other.err


@pytest.mark.slow
def test_matches_without_a_valid_answer_are_told(call: Call) -> None:
    scripted.register("mute", lambda request: "...")
    study = Path("own.yaml")
    study.write_text(study.read_text() + "invalid: {retries: 0, policy: skip-match}\n")
    done = call("more", "profile", "--model", "scripted/mute", "--battery", "mine.yaml", "--out", "m", "--json")
    (profile,) = json.loads(done.out)["profiles"]
    assert any("One <i>: 8 of 8 matches were skipped" in note for note in profile["notes"]), profile["notes"]
    assert all(figure["error"] and not figure["estimates"] for figure in profile["figures"])


def priced(body: dict[str, Any]) -> dict[str, Any]:
    """A reply that takes 600 tokens, far more than was forecast."""
    usage = {"prompt_tokens": 500, "completion_tokens": 100, "total_tokens": 600}
    return {**openai_document(body, answer(body)), "usage": usage}


@pytest.mark.slow
def test_a_budget_is_never_exceeded_while_it_is_played(call: Call) -> None:
    """Calls take more than was forecast, several at a time: the server counts what they cost."""
    budget = 8.5
    with LoopbackServer(priced) as server:
        Path("prices.yaml").write_text(f'"{server.model}": {{input: 1000, output: 1000}}\n')
        asked = ("profile", "--model", server.model, "--battery", "mine.yaml", "--prices", "prices.yaml")
        done = call(*asked, "--budget-usd", str(budget), "--json")
        (profile,) = json.loads(done.out)["profiles"]
        assert done.code == 1 and profile["usd"] == pytest.approx(0.6 * server.count)
        assert budget - 1.2 < profile["usd"] <= budget  # a prompt of some 1,100 bytes may cost 1.1
        assert any("is incomplete: the budget of" in note for note in profile["notes"])
        made = server.count
        assert call(*asked, "--budget-usd", str(budget)).code == 1 and server.count == made


@pytest.mark.slow
def test_an_interruption_has_its_code_writes_no_page_and_is_gone_on_from(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = running.play_resolved

    def interrupted(found: Any, folder: Path, *of: Any, **how: Any) -> Any:
        return replace(play(found, folder, *of, **how), interrupted=folder.name == "two")

    monkeypatch.setattr(running, "play_resolved", interrupted)
    done = call("more", "profile", "--model", "scripted/kind", "--battery", "mine.yaml", "--json")
    assert done.code == 130 and not done.out and "the same command goes on from here" in done.err, done
    assert not list(Path("profiles").rglob("*.html"))
    monkeypatch.setattr(running, "play_resolved", play)
    assert profiled(call)["profiles"][0]["complete"]


@pytest.mark.slow
def test_a_larger_budget_adds_seeds_and_a_smaller_one_takes_none_away(call: Call) -> None:
    with LoopbackServer() as server:
        Path("prices.yaml").write_text(f'"{server.model}": {{input: 1000, output: 1000}}\n')
        asked = ("profile", "--model", server.model, "--battery", "mine.yaml", "--prices", "prices.yaml")

        def played(budget: str) -> dict[str, Any]:
            done = call(*asked, "--budget-usd", budget, "--json")
            assert done.code == 0, done.err
            found: dict[str, Any] = json.loads(done.out)
            assert found["folder"] == str(Path("profiles/mine"))
            return found

        first = played("4.3")
        (page,) = first["profiles"]
        assert first["seeds"] == {"one": 3, "two": 0} and server.count == 12
        assert "Two was left out: the budget does not suffice for it." in page["notes"]
        assert "Two was left out" in Path(page["page"]).read_text()
        assert played("1000")["seeds"] == {"one": 4, "two": 4} and server.count == 32
        (page,) = played("4.3")["profiles"]
        assert server.count == 32 and page["complete"] and not page["notes"]


@pytest.mark.slow
def test_the_standard_battery_is_sound_at_every_preset() -> None:
    battery, _ = read_battery("standard")
    assert {
        "memory",
        "games",
        "framing",
        "scripts",
        "prediction",
        "mechanisms",
        "personas",
        "sharing",
        "commons",
        "horizon",
        "hints",
        "words",
        "society",
    } == {p.name for p in battery.parts}
    for part in battery.parts:
        assert part.study in builtin_names()
        for how in (part, *part.presets.values()):
            study = load_study(part.study, preset=how.preset, changes=how.set, models=["scripted/kind"], seeds=1)
            check_figures(part, read_factors(study.vary, None))
        for figure in part.figures:
            assert figure.measure_object.name
            if figure.published is not None and not figure.published.by:
                assert published_beside(figure.published, []), figure.name


def test_published_slopes_and_differences_are_computed_from_the_printed_cells() -> None:
    pick = {"reference": "memory_curse", "scale": 0.01,
            "where": {"condition": "reasoning", "game": "prisoners_dilemma", "measure": "cooperation_rate", "real": "",
                      "player": "", "history": "80"}}  # fmt: skip
    one = {o.name: o.value for o in published_beside(PublishedCells(**pick), [])}
    less = {o.name: o.value for o in published_beside(PublishedCells(**pick, minus={"history": "2"}), [])}
    pick["where"] = {**pick["where"], "history": "2"}  # type: ignore[dict-item]
    two = {o.name: o.value for o in published_beside(PublishedCells(**pick), [])}
    assert less and all(less[name] == pytest.approx(one[name] - two[name]) for name in less)


def test_published_slopes_and_differences_compare_like_with_like() -> None:
    """Deliberation penalty of Llama 4 Scout: games that are printed for one condition only do not count."""
    battery, _ = read_battery("standard")
    (memory,) = [part for part in battery.parts if part.name == "memory"]
    picks = [figure.published for figure in memory.figures if figure.published]
    slope, penalty = ({o.name: o.value for o in published_beside(pick, [])} for pick in picks)
    assert penalty["Llama-4-Scout-17B"] == pytest.approx(0.0477, abs=1e-4)
    # A cell that several tables print counts once, and only the lengths that were played count.
    assert slope["GPT-OSS-120B"] == pytest.approx(-0.0584, abs=1e-4)
    played = {o.name: o.value for o in published_beside(picks[0], [], {2.0, 40.0})}
    assert played["GPT-OSS-120B"] == pytest.approx(-0.1615, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parts": []}, "parts: "),
        ({"parts": [{**PART, "least": 9}]}, "least must not be more than most"),
        ({"parts": [{**PART, "study": "nothing"}]}, "nothing"),
        ({"parts": [{**PART, "study": "../other.yaml"}]}, "a file beside the battery (found '../other.yaml')"),
        ({"parts": [{**PART, "study": "/etc/hosts"}]}, "a file beside the battery"),
        ({"parts": [PART, PART]}, "two parts have the name"),
        ({"parts": [{**PART, "figures": [{"name": "a", "measure": "cooperatoin"}]}]}, "did you mean cooperation"),
        ({"parts": [{**PART, "figurs": []}]}, "did you mean 'figures'?"),
        (
            {"parts": [{**PART, "set": [VARIED], "figures": [{**FIGURES[1], "contrast": "style=direct-none"}]}]},
            "figure 'Reciprocity': contrast 'direct-none' of style: must be two of its levels",
        ),
        (
            {"parts": [{**PART, "set": [VARIED], "figures": [{**FIGURES[2], "where": {"style": ["direct", "x"]}}]}]},
            "figure 'Nothing': unknown level of style 'x'",
        ),
        (
            {"parts": [{**PART, "set": [ONCE], "figures": [{"name": "Slope", "measure": "cooperation", "over": "k"}]}]},
            "figure 'Slope': a slope over k needs two levels of it or more",
        ),
    ],
)
def test_a_wrong_battery_is_one_line(call: Call, change: dict[str, Any], words: str) -> None:
    Path("mine.yaml").write_text(yaml.safe_dump({**BATTERY, **change}))
    done = call("more", "profile", "--model", "scripted/kind", "--battery", "mine.yaml", "--dry-run", "--json")
    assert done.code == 2 and not done.out and done.err.count("\n") == 1, done
    assert words in done.err, done.err


def test_wrong_use_is_one_line(call: Call) -> None:
    for arguments, words in (
        (("--battery", "nothing"), "battery"),
        (("--battery", "mine.yaml", "--preset", "smok"), "did you mean smoke"),
        (("--battery", "mine.yaml", "--model", "scripted/kind"), "named twice"),
        (("--battery", "mine.yaml", "--model", "http://models.invalid/v1#m"), "give one with --prices FILE"),
    ):
        done = call("more", "profile", "--model", "scripted/kind", *arguments)
        assert done.code == 2 and words in done.err and done.err.count("\n") == 1, done
