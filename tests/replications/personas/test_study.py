"""The persona study: what players are told, what theory says of simple players, and the published figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from tests.replications.personas.theory import (
    always_green_rate,
    chance_of_nash,
    published_counts,
    published_models,
    published_personas,
)

from ostrom.agents.config import AgentConfig
from ostrom.agents.explained import explained
from ostrom.answers import Answer, Choice, Invalid, read
from ostrom.costs.lengths import reply_of
from ostrom.data.rundata import run_data
from ostrom.features.comparing import compare_run
from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.games import Game, build_game
from ostrom.games.equilibria import best_responses
from ostrom.games.scenarios import families, scenarios, shipped_cast, shipped_scenario
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.base import act
from ostrom.mechanisms.protocol import View
from ostrom.memory import Shown
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.replications.personas.effects import effects_of_counts
from ostrom.replications.personas.profiles import Played, played
from ostrom.replications.personas.rates import rates
from ostrom.replications.personas.reference import (
    contradictions,
    disputed,
    selects,
)
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play

LIBRARY = Library()
ALL = [(family, name) for family in families() for name in scenarios(family)]
PRESENTATIONS = ("rows", "best_responses", "own_sentences", "matrices", "prose")


def prompt(game: Game, seat: int, framing: Framing, persona: str | None = None, rows: int = 0) -> str:
    renderer = PromptRenderer(
        framing, LIBRARY, "direct", persona, draw_rows=lambda s: np.random.default_rng([rows, s])
    )
    decision = replace(act(View(game, seat, "none")), form=explained(Choice(game.named_actions(seat)), 60))
    return renderer.prompt(decision, Shown(), None, {}).text


# -- what is shown is what is scored ---------------------------------------------------------------------


def table_lines(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith("|---"):
            yield [part.strip() for part in line.strip("|").split("|")]


def read_rows(text: str, names: list[str]) -> dict[tuple[str, ...], float]:
    header, *lines = table_lines(text)
    assert header == ["you", *names, "you receive"]
    return {tuple(line[:-1]): float(line[-1]) for line in lines}


def read_sentences(text: str, names: list[str]) -> dict[tuple[str, ...], float]:
    found = {}
    for line in re.findall(r"^- If you choose (.+)\.$", text, re.MULTILINE):
        deeds, _, paid = line.partition(", you receive ")
        own, *rest = re.split(r", | and (?=the |Player )", deeds)
        assert [part.partition(" chooses ")[0] for part in rest] == names
        found[own, *(part.partition(" chooses ")[2] for part in rest)] = float(paid.removesuffix(" points"))
    return found


def read_prose(text: str, names: list[str]) -> dict[tuple[str, ...], float]:
    found = {}
    for paid, deeds in re.findall(r"You receive (\S+) points if you choose (.+?)\.(?= You receive|\n)", text):
        own, *rest = re.split(r", | and (?=the |Player )", deeds)
        assert [part.partition(" chooses ")[0] for part in rest] == names
        found[own, *(part.partition(" chooses ")[2] for part in rest)] = float(paid)
    return found


def read_responses(
    text: str, names: list[str]
) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], set[str]]]:
    header, *lines = table_lines(text)
    options = [h.removeprefix("you choose ") for h in header[len(names) : -1]]
    assert header[: len(names)] == names
    found, best = {}, {}
    for line in lines:
        rest = tuple(line[: len(names)])
        best[rest] = set(line[-1].split(" or "))
        for option, paid in zip(options, line[len(names) : -1], strict=True):
            found[option, *rest] = float(paid)
    return found, best


def read_matrices(text: str, names: list[str]) -> dict[tuple[str, ...], float]:
    found: dict[tuple[str, ...], float] = {}
    for block in re.split(r"^You against ", text, flags=re.MULTILINE)[1:]:
        head, _, body = block.partition(":\n")
        other, _, conditions = head.partition(", if ")
        given = dict(
            part.split(" chooses ") for part in re.split(r", | and (?=the |Player )", conditions) if part
        )
        header, *lines = table_lines(body)
        for own, *payoffs in lines:
            for column, paid in zip(header[1:], payoffs, strict=True):
                rest = {**given, other: column}
                key = (own, *(rest[name] for name in names))
                assert found.setdefault(key, float(paid)) == float(paid), "one profile, two payoffs"
    return found


def scored(game: Game, seat: int) -> dict[tuple[str, ...], float]:
    table = {}
    for profile in game.profiles():
        names = [game.actions[s][a] for s, a in enumerate(profile)]
        own = names.pop(seat)
        table[own, *names] = game.payoff(profile)[seat]
    return table


def shown(
    text: str, presentation: str, names: list[str], game: Game, seat: int
) -> dict[tuple[str, ...], float]:
    if presentation == "rows":
        return read_rows(text, names)
    if presentation == "own_sentences":
        return read_sentences(text, names)
    if presentation == "prose":
        return read_prose(text, names)
    if presentation == "matrices":
        return read_matrices(text, names)
    found, best = read_responses(text, names)
    others = [s for s in range(game.seats) if s != seat]
    for rest, named in best.items():
        indices = [game.index(s, action) for s, action in zip(others, rest, strict=True)]
        assert named == {game.actions[seat][i] for i in best_responses(game, seat, indices)}
    return found


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("presentation", PRESENTATIONS)
def test_every_role_of_every_scenario_is_shown_what_is_scored(presentation: str) -> None:
    for number, (family, name) in enumerate(ALL):
        game = shipped_scenario(family, name).game()
        titles = number % 2 == 0
        called = [f"the {title}" if titles else f"Player {s}" for s, title in enumerate(game.words.titles, 1)]
        framing = Framing(
            story="scenario",
            labels="actions",
            payoffs=presentation,
            names="titles" if titles else "numbers",
            rows="shuffled" if number % 4 < 2 else "given",
        )
        for seat in range(game.seats):
            names = called[:seat] + called[seat + 1 :]
            text = prompt(game, seat, framing, rows=number)
            assert shown(text, presentation, names, game, seat) == scored(game, seat), (family, name, seat)


@pytest.mark.parametrize("presentation", PRESENTATIONS)
def test_any_number_of_roles_and_actions_can_be_shown(presentation: str) -> None:
    rng = np.random.default_rng(5)
    for shape in [(2, 2), (3, 2, 4), (2, 3, 2, 2, 2)]:
        payoffs = rng.integers(-900, 900, size=(*shape, len(shape))) / 8 + 1e-7
        actions = tuple(tuple(f"S{s}X{a}" for a in range(n)) for s, n in enumerate(shape))
        game = TensorGame("many", actions, payoffs)
        for seat in range(len(shape)):
            names = [f"Player {s + 1}" for s in range(len(shape)) if s != seat]
            text = prompt(game, seat, Framing(labels="actions", payoffs=presentation))
            assert shown(text, presentation, names, game, seat) == scored(game, seat)


def test_rows_are_shuffled_by_match_and_seat_and_stay_so() -> None:
    game = build_game("scenario:commons/debt_crisis")
    framing = Framing(story="scenario", labels="actions", payoffs="rows", rows="shuffled")

    def order(seat: int, draw: int) -> list[str]:
        lines = prompt(game, seat, framing, rows=draw).splitlines()
        return [line for line in lines if line.startswith("|")]

    assert order(0, 1) == order(0, 1)
    assert order(0, 1) != order(0, 2)
    assert sorted(order(0, 1)) == sorted(order(0, 2))


# -- the four conditions ---------------------------------------------------------------------------------


def plan(**more: Any) -> StudyPlan:
    return StudyPlan(load_study("personas", changes=["agent.model=scripted/x"], **more), LIBRARY)


def texts(of: StudyPlan, scenario: str = "debt_crisis") -> dict[tuple[str, str], list[str]]:
    found = {}
    for unit in of.units():
        if unit.seed == 0 and unit.cell["scenario"] == scenario:
            config = unit.players[0].config
            found[unit.cell["persona"], unit.cell["payoffs"]] = [
                prompt(unit.game, seat, config.framing, config.persona) for seat in range(unit.game.seats)
            ]
    return found


def test_the_paper_preset_is_the_published_design() -> None:
    paper = plan(preset="paper")
    assert (paper.cells, len(paper)) == (4 * 53, 4 * 265)
    classes = [unit.cell["scenario_class"] for unit in paper.units()]
    assert (classes.count("economic"), classes.count("environmental")) == (4 * 60, 4 * 205)
    config = paper.unit(0).players[0].config
    assert config.params == {"temperature": 0.2, "top_p": 0.9, "max_tokens": 256}
    assert paper.unit(0).mechanism.name == "none" and len(paper.unit(0).players) == 4


@pytest.mark.usefixtures("speaking")
def test_who_the_player_is_stands_in_the_system_message_before_the_story(tmp_path: Path) -> None:
    """C.1: the role, or the neutral description, is the system message; the scenario is the user's."""
    requests: list[Request] = []

    def listen(request: Request) -> str:
        requests.append(request)
        return chosen(request, green_one, "So.")

    register("listening", listen)
    play(load_study("personas", preset="smoke", models=["scripted/listening"]), name="p", runs=tmp_path)
    unregister("listening")
    game = build_game("scenario:commons/debt_crisis")
    assert len(requests) == 16
    for request in requests:
        system, user = request.messages
        assert (system.role, user.role) == ("system", "user")
        assert system.content in game.words.personas or "no role to play" in system.content
        assert game.words.narrative in user.content and system.content not in user.content
    assert sum(request.messages[0].content in game.words.personas for request in requests) == 8


def test_conditions_say_who_you_are_and_show_payoffs_as_they_should() -> None:
    game = build_game("scenario:commons/debt_crisis")
    told = texts(plan(preset="smoke"))
    assert set(told) == {(who, seen) for who in ("yes", "no") for seen in ("hidden", "visible")}
    for (who, seen), by_seat in told.items():
        for seat, text in enumerate(by_seat):
            assert game.words.narrative in text
            assert all(action in text for names in game.actions for action in names)
            assert '"action"' in text and '"rationale"' in text and "step by step" in text
            assert (game.words.personas[seat] in text) == (who == "yes")
            assert (f"You are the {game.words.titles[seat]}." in text) == (who == "yes")
            assert ("best response" in text) == ((who, seen) == ("no", "hidden"))
            assert ("Identify a Nash equilibrium" in text) == (seen == "visible")
            assert ("Decide what you, as the" in text) == ((who, seen) == ("yes", "hidden"))
            assert ("you receive" in text) == (seen == "visible")
            numbers = {f"| {x:g} |" for x in game.payoffs[..., seat].ravel()}
            assert all(number in text for number in numbers) == (seen == "visible")


@pytest.mark.slow
def test_rationales_are_short_explanations_without_a_bound_of_words() -> None:
    text = texts(plan())["yes", "visible"][0]
    assert 'and "rationale", a short explanation of your choice. Think step by step' in text
    assert "at most" not in text
    config = plan(preset="paper").unit(0).players[0].config
    form = explained(Choice(("A", "B")), config.framing.words)
    assert form.schema["properties"]["rationale"] == {"type": "string"}
    # 153 words, as many as the first printed example has.
    long = orjson.dumps({"action": "A", "rationale": "word " * 153}).decode()
    assert isinstance(read(form, long), Answer)
    assert isinstance(read(explained(Choice(("A", "B")), 60), long), Invalid)
    assert reply_of(config, form)[1] == 256


@pytest.mark.slow
def test_the_length_of_rationales_is_a_factor() -> None:
    of = plan(preset="length")
    (factor,) = [one for one in of.factors if one.name == "length"]
    assert [level.label for level in factor.levels] == [None, 150, 60]
    assert len(of) == 3 * len(plan())


@pytest.mark.parametrize("more", [{"answer": "choice"}, {"answer": "explained", "style": "reasoned"}])
def test_only_a_rationale_may_be_of_any_length(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"framing\.words: null needs answer: explained"):
        AgentConfig(model="m/x", framing=Framing(words=None), **more)
    config = AgentConfig(model="m/x", framing=Framing(words=None), answer="explained", style="direct")
    assert config.framing.words is None


def test_the_rows_are_those_of_the_published_table() -> None:
    config = plan(preset="smoke").unit(1).players[0].config
    text = prompt(build_game("scenario:commons/debt_crisis"), 0, config.framing, config.persona)
    header, *lines = table_lines(text)
    assert header[:2] == ["you", "the Government"]
    printed = orjson.loads((Path(__file__).parent / "table_9.json").read_bytes())
    short = {"NO_REG": "NOREG", "REG": "REGULATE", "NO_CAM": "NOCAMPAIGN", "CAM": "CAMPAIGN"}
    wanted = [[*(short.get(word, word) for word in row[:4]), row[4]] for row in printed]
    assert [[*line[:4], float(line[4])] for line in lines] == wanted


@pytest.mark.slow
def test_actions_are_named_in_the_printed_order_and_reversed_in_a_preset() -> None:
    game = build_game("scenario:commons/debt_crisis")
    printed = [["POLLUTE", "CLEAN"], ["REGULATE", "NOREG"], ["CAMPAIGN", "NOCAMPAIGN"],
               ["SUPPORT_GREEN", "BUY_CHEAP"]]  # fmt: skip
    for order, wanted in (("given", printed), ("reversed", [names[::-1] for names in printed])):
        config = Framing(story="scenario", labels="actions", meanings=True, payoffs=None, order=order)
        for seat, names in enumerate(wanted):
            text = prompt(game, seat, config)
            assert re.findall(r"^- (\w+): ", text, re.MULTILINE) == names
            assert f'"action", one of "{names[0]}" or "{names[1]}"' in text
    assert "POLLUTE (keep producing the polluting way), CLEAN" in prompt(
        game, 1, Framing(story="scenario", labels="actions", meanings=True, payoffs=None)
    )
    cells = {unit.cell["order"] for unit in plan(preset="order").units()}
    assert cells == {"given", "reversed"} and plan(preset="order").cells == 2 * 212


def test_everybodys_payoffs_in_one_table_are_what_is_scored() -> None:
    game = build_game("scenario:commons/water_crisis")
    for seat in range(4):
        framing = Framing(story="scenario", labels="actions", names="titles", payoffs="profiles")
        header, *lines = table_lines(prompt(game, seat, framing))
        assert header == [*(f"the {t}" for t in game.words.titles), "payoffs"] and len(lines) == 16
        for *names, told in lines:
            profile = tuple(game.index(s, name) for s, name in enumerate(names))
            assert tuple(float(x) for x in told.strip("()").split(",")) == tuple(game.payoff(profile))


@pytest.mark.slow
def test_persona_instruction_payoffs_and_names_are_factors_of_their_own() -> None:
    crossed = {
        tuple(unit.cell[f] for f in ("persona", "payoffs", "instruction"))
        for unit in plan(preset="instruction").units()
    }
    every = ("none", "role", "best_response", "nash")
    assert crossed == {("yes", seen, i) for seen in ("hidden", "visible") for i in every} | {
        ("no", seen, i) for seen in ("hidden", "visible") for i in every if i != "role"
    }
    named = {
        (unit.cell["persona"], unit.cell["names"], unit.cell["meanings"])
        for unit in plan(preset="names").units()
    }
    assert {("no", names, told) for names in ("titles", "numbers") for told in ("told", "left_out")} <= named
    presented = {(u.cell["presentation"], u.cell["rows"]) for u in plan(preset="presentation").units()}
    assert ("profiles", "sorted") in presented and ("matrices", "sorted") not in presented


def test_a_story_needs_a_game_that_has_one() -> None:
    for framing, complaint in [
        ({"story": "scenario"}, "could not be filled in"),
        ({"names": "titles"}, "needs a game that carries titles"),
        ({"meanings": True}, "says what its actions mean"),
    ]:
        study = {"name": "x", "game": "stag_hunt", "agent": {"model": "scripted/x", "framing": framing}}
        with pytest.raises(StudyError, match=complaint):
            StudyPlan(load_study(study), LIBRARY)


def test_a_persona_of_one_word_must_exist() -> None:
    study = {"name": "x", "game": "stag_hunt", "agent": {"model": "scripted/x", "persona": "rolle"}}
    with pytest.raises(Exception, match=r"unknown persona .* 'rolle'"):
        StudyPlan(load_study(study), LIBRARY)


# -- playing ---------------------------------------------------------------------------------------------


def profiles(tmp_path: Path, study: Mapping[str, Any]) -> list[Played]:
    play(load_study(study), name="p", runs=tmp_path)
    with open_run("p", tmp_path) as run:
        return played(run.rows.rounds(), lambda match: run.plan.unit(match).game)


def theory_study(
    strategy: Any, classes: list[str], seeds: int = 1, family: str = "commons"
) -> dict[str, Any]:
    return {
        "name": "theory",
        "game": "scenario:commons/debt_crisis",
        "types": {"script": {"strategy": strategy}},
        "vary": {
            "scenario": {"set": "game", "to": {"from": "scenarios", "family": family, "classes": classes}},
            "persona": {"yes": {"agent.memory": "full"}},
            "payoffs": {"hidden": {"agent.memory": "full"}},
        },
        "seeds": seeds,
    }


@pytest.mark.parametrize(("kind", "belief"), [("economic", [0, 1]), ("environmental", [1, 0])])
@pytest.mark.parametrize("family", families())
def test_best_replies_to_the_canonical_profile_are_all_equilibria(
    tmp_path: Path, family: str, kind: str, belief: list[int]
) -> None:
    strategy = {"name": "best_response", "belief": [belief] * (len(shipped_cast(family).roles) - 1)}
    found = profiles(tmp_path, theory_study(strategy, [kind], family=family))
    assert found and all(p.nash and max(p.regrets) == 0 and p.distance == 0 for p in found)
    (rate,) = rates(found, types=["all"])
    assert rate.share == 1.0
    assert all(p.tragedy if kind == "economic" else p.green for p in found)


def test_always_green_players_score_what_theory_gives(tmp_path: Path) -> None:
    classes = ["economic", "environmental", "mixed"]
    found = profiles(tmp_path, theory_study("cooperator", classes))
    games = {n: shipped_scenario("commons", n) for n in scenarios("commons")}
    by_type = {rate.scenario_type: rate for rate in rates(found)}
    for kind in classes:
        of_kind = [s.game() for s in games.values() if s.scenario_class == kind]
        assert by_type[kind].share == always_green_rate(of_kind)
    assert (by_type["all"].successes, by_type["all"].n) == (41, 53)
    assert by_type["economic"].share == 0 and by_type["environmental"].share == 1


@pytest.mark.slow
def test_random_players_match_the_closed_form(tmp_path: Path) -> None:
    found = profiles(tmp_path, theory_study("random", ["economic", "environmental"], seeds=12))
    names = [p.scenario for p in found]
    expected = sum(chance_of_nash(build_game(f"scenario:commons/{n}")) for n in names) / len(names)
    (rate,) = rates(found, types=["all"])
    assert rate.n == 53 * 12 and rate.estimate is not None and rate.estimate.n == 53
    assert expected in rate.estimate


GREEN = {
    action.key
    for family in families()
    for role in shipped_cast(family).roles
    for action in role.actions
    if action.green
}


def green_one(labels: list[str]) -> str:
    return next(label for label in labels if label in GREEN)


def grey_one(labels: list[str]) -> str:
    return next(label for label in labels if label not in GREEN)


def chosen(request: Request, pick: Callable[[list[str]], str], why: str) -> str:
    options = re.search(r'"action", one of (.*?), and "rationale"', request.messages[-1].content)
    assert options is not None
    labels = re.findall(r'"(\w+)"', options.group(1))
    return orjson.dumps({"action": pick(labels), "rationale": why}).decode()


@pytest.fixture
def speaking() -> Iterator[None]:
    register("green", lambda r: chosen(r, green_one, "It is the right thing for the future."))
    register("grey", lambda r: chosen(r, grey_one, "The payoff is higher, a best response."))
    register("mute", "I would rather not say.")
    yield
    for name in ("green", "grey", "mute"):
        unregister(name)


@pytest.mark.slow
@pytest.mark.usefixtures("speaking")
def test_models_answer_with_an_action_and_a_rationale(tmp_path: Path) -> None:
    both = ["vary.scenario.to.names=[debt_crisis, water_crisis]"]
    models = ["scripted/green", "scripted/grey"]
    study = load_study("personas", preset="smoke", models=models, changes=both)
    play(study, name="p", runs=tmp_path)
    with open_run("p", tmp_path) as run:
        rows = list(run.rows.decisions())
        found = played(rows, lambda match: run.plan.unit(match).game)
    assert len(rows) == 2 * 4 * 2 * 4
    assert {row["rationale"] for row in rows if row["agent"] == "scripted/green"} == {
        "It is the right thing for the future."
    }
    assert all(p.green for p in found if p.agent == "scripted/green")
    assert all(p.tragedy for p in found if p.agent == "scripted/grey")
    by = {(r.key["agent"], r.scenario_type): r.share for r in rates(found, by=("agent",))}
    assert by == {
        ("scripted/green", "all"): 0.5, ("scripted/grey", "all"): 0.5,
        ("scripted/green", "economic"): 0.0, ("scripted/grey", "economic"): 1.0,
        ("scripted/green", "environmental"): 1.0, ("scripted/grey", "environmental"): 0.0,
    }  # fmt: skip


@pytest.mark.usefixtures("speaking")
def test_roles_can_be_played_by_different_models(tmp_path: Path) -> None:
    types = "types={a: scripted/green, b: scripted/grey, c: scripted/green, d: scripted/grey}"
    study = load_study("personas", preset="smoke", changes=["seating=seats", types])
    play(study, name="p", runs=tmp_path)
    with open_run("p", tmp_path) as run:
        found = played(run.rows.rounds(), lambda match: run.plan.unit(match).game)
    assert {p.greens for p in found} == {(True, False, True, False)}
    assert {p.agent for p in found} == {"a + b + c + d"}


@pytest.mark.usefixtures("speaking")
@pytest.mark.parametrize("policy", ["skip-match", "uniform", "default:POLLUTE"])
def test_answers_without_an_action_fall_to_the_policy(tmp_path: Path, policy: str) -> None:
    changes = ["agent.model=scripted/mute", f"invalid.policy={policy}", "invalid.retries=1"]
    data = {
        "name": "p", "game": "scenario:commons/debt_crisis",
        "agent": {"answer": "explained", "style": "direct", "framing": {"labels": "actions"}},
        "seats": {s: {"model": None, "strategy": "cooperator"} for s in (2, 3, 4)},
    }  # fmt: skip
    play(load_study(data, changes=changes), name="p", runs=tmp_path)
    with open_run("p", tmp_path) as run:
        rows = [row for row in run.rows.decisions() if row["player"] == 1]
        states = {row["state"] for row in run.rows.matches()}
    if policy == "skip-match":
        assert states == {"skipped"}
        return
    (row,) = rows
    assert row["invalid"] and row["action"] in ("CLEAN", "POLLUTE") and row["complaints"] == 2
    assert policy == "uniform" or row["action"] == "POLLUTE"


@pytest.mark.usefixtures("speaking")
def test_another_family_needs_no_code(tmp_path: Path) -> None:
    study = load_study("personas", preset="alliance", models=["scripted/green"], seeds=1)
    play(study, name="p", runs=tmp_path)
    with open_run("p", tmp_path) as run:
        found = played(run.rows.rounds(), lambda match: run.plan.unit(match).game)
    assert {p.roles for p in found} == {("Hospital", "Insurer", "Regulator", "Patient")}
    assert len(found) == 4 * len(scenarios("data-alliance")) and all(p.green for p in found)


@pytest.mark.usefixtures("speaking")
def test_own_scenarios_are_studied_from_a_folder(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[3] / "src/ostrom/games/scenarios/families/data-alliance"
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("cast.yaml", "genome_bank.yaml"):
        (mine / name).write_text((shipped / name).read_text())
    study = tmp_path / "study.yaml"
    study.write_text(
        "name: own\ngame: scenario:commons/debt_crisis\n"
        "agent: {model: scripted/green, answer: explained, style: direct, framing: {labels: actions}}\n"
        "vary: {story: {set: game, to: {from: scenarios, folder: mine}}}\n"
    )
    made = StudyPlan(load_study(str(study)), LIBRARY, str(study))
    assert made.unit(0).cell["story"] == "genome_bank"
    assert made.unit(0).game.words == build_game("scenario:data-alliance/genome_bank").words


def test_sources_refuse_what_they_do_not_have() -> None:
    for to, complaint in [
        ({"from": "scenarios", "family": "commonss"}, "unknown scenario family"),
        ({"from": "scenarios"}, "either a family or a folder"),
        ({"from": "scenarios", "family": "commons", "classes": "red"}, "unknown class of scenarios"),
        ({"from": "scenarios", "family": "commons", "names": ["debt"]}, "unknown scenario 'debt'"),
        ({"from": "scenario"}, "unknown source of levels"),
        ({"from": "scenarios", "famly": "commons"}, "unknown key 'famly'"),
    ]:
        vary = {"s": {"set": "game", "to": to}}
        study = {"name": "x", "game": "scenario", "types": {"c": "cooperator"}, "vary": vary}
        with pytest.raises(Exception, match=complaint):
            StudyPlan(load_study(study), LIBRARY)


def test_the_configuration_of_an_explained_answer_is_part_of_the_identity() -> None:
    one, two = (AgentConfig(model="m/x", answer=a) for a in ("choice", "explained"))
    assert one.identity != two.identity


# -- the published figures -------------------------------------------------------------------------------


def test_published_counts_give_the_published_rates() -> None:
    counted = [row for row in published_personas() if row["numerator"] is not None]
    assert len(published_personas()) == 200 and len(counted) > 90
    for row in counted:
        assert abs(100 * row["numerator"] / row["denominator"] - row["value"]) <= 0.0501, row


def test_published_counts_give_the_published_effects_except_where_the_paper_contradicts_itself() -> None:
    names = {"persona_effect_pp": "persona", "payoff_visibility_effect_pp": "visibility"}
    wrong, checked = set(), 0
    for row in published_personas():
        if row["metric"] not in names:
            continue
        effects = effects_of_counts(published_counts(row["model"], row["scenario_type"]))
        at = row["payoffs"] if row["metric"] == "persona_effect_pp" else row["persona"]
        checked += 1
        # Differences of two rounded rates, and halves of them, may be off by a little more than a digit.
        if abs(effects[names[row["metric"]], at] - row["value"]) > 0.11:
            wrong.add((row["table"], row["model"], at))
            assert disputed(row) == ["table-12-mistral"]
    assert checked == 73
    assert wrong == {("Table 12", "Mistral-7B", "visible"), ("Table 12", "Mistral-7B", "average")}


def test_the_anchors_of_the_paper() -> None:
    economic = {m: published_counts(m, "economic") for m in published_models()}
    assert all(
        100 * k / n <= 6.7 for c in economic.values() for (who, _), (k, n) in c.items() if who == "yes"
    )
    rate = {m: c["no", "visible"][0] / c["no", "visible"][1] for m, c in economic.items()}
    assert (rate["Qwen-7B"], rate["Qwen-32B"]) == (0.65, 0.90)


def test_contradictions_are_data_with_figures_from_the_tables() -> None:
    listed = {item["id"]: item for item in contradictions()}
    assert len(listed) == 12
    for item in listed.values():
        assert item["stated"] and item["against"]
        assert all(figure["stated"] != figure["implied"] for figure in item["figures"])
        for rule in [*item.get("doubted", ()), *item.get("evidence", ())]:
            assert any(selects(rule, row) for row in published_personas()), rule
    # Every figure that the tables mark as contested belongs to a listed contradiction.
    marked = [row for row in published_personas() if "CONFLICT" in (row["note"] or "")]
    assert len(marked) == 12 and all(disputed(row) for row in marked)

    def implied(name: str) -> list[float]:
        return [figure["implied"] for figure in listed[name]["figures"]]

    def count(table: str, model: str, payoffs: str, persona: str, metric: str, kind: str) -> int:
        (row,) = [
            r for r in published_personas()
            if (r["table"], r["model"], r["payoffs"], r["persona"], r["metric"], r["scenario_type"])
            == (table, model, payoffs, persona, metric, kind)
        ]  # fmt: skip
        assert row["numerator"] is not None
        return int(row["numerator"])

    zero = [
        count("Table 3", m, seen, "yes", "nash_rate", "economic") == 0
        for m in published_models() for seen in ("hidden", "visible")
    ]  # fmt: skip
    assert implied("zero-cells") == [sum(zero)]
    assert implied("green-counts") == [
        count("Table 5", m, "hidden", "yes", "nash_rate", "environmental")
        + count("Table 10", m, "hidden", "yes", "green_rate", "economic")
        for m in ("Qwen-32B", "Qwen-7B")
    ]
    effects = effects_of_counts(published_counts("Mistral-7B", "environmental"))
    assert implied("table-12-mistral") == [
        round(effects["persona", "visible"], 1), round(effects["persona", "average"], 1)
    ]  # fmt: skip
    green = [count("RQ.5 prose (Figure 3)", m, "visible", "no", "green_share_of_nash", "all")
             for m in ("Qwen-32B", "Qwen-7B")]  # fmt: skip
    environmental = [count("Table 5", m, "visible", "no", "nash_rate", "environmental")
                     for m in ("Qwen-32B", "Qwen-7B")]  # fmt: skip
    assert implied("green-share-of-nash") == [environmental[0] - green[0], green[1] - environmental[1]]
    table_1 = [
        effects_of_counts(published_counts(m))["persona", at]
        for m in published_models() for at in ("hidden", "visible")
    ]  # fmt: skip
    extremes = implied("range-of-effects")
    assert abs(max(table_1) - extremes[0]) < 0.11 and abs(min(table_1) - extremes[1]) < 0.11


@pytest.mark.slow
@pytest.mark.usefixtures("speaking")
def test_compare_sets_rates_and_effects_beside_the_published_ones_and_reports_contradictions(
    tmp_path: Path,
) -> None:
    study = load_study("personas", preset="small", models=["scripted/green"], seeds=1)
    play(study, name="p", runs=tmp_path)
    with open_run("p", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        made = compare_run(data, ["Qwen-32B"])
    lines = {line.cell: line for line in made.lines}
    rate = lines["visible", "no", "economic", "nash_rate"]
    assert (rate.own.value, rate.value) == (0.0, 90.0)
    effect = lines["visible", "no_minus_yes", "environmental", "persona_effect_pp"]
    assert (effect.own.value, effect.value) == (0.0, -58.0)
    # Five environmental scenarios once in each of the two arms; eight scenarios, four arms in all.
    assert (rate.own.matches, effect.own.matches) == (3, 10)
    assert lines["visible_minus_hidden", "no", "all", "payoff_visibility_effect_pp"].own.matches == 16
    assert lines["visible", "no", "all", "game_theoretic_share"].own.matches == 8
    assert lines["visible_minus_hidden", "no", "economic", "payoff_visibility_effect_pp"].value == 90.0
    contested = lines["hidden", "yes", "all", "green_rate"]
    assert contested.value == 69.8 and "CONFLICT" in contested.doubts[0]
    assert not lines["hidden", "no", "economic", "nash_rate"].doubts
    remarks = "\n".join(made.remarks)
    assert all(item["stated"] in remarks and item["against"] in remarks for item in contradictions())
