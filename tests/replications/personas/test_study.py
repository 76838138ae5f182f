"""The persona study: what players are told, what theory says of simple players, and the published figures."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from tests.replications.personas.theory import published_counts, published_models, published_personas

from ostrom.agents.config import AgentConfig
from ostrom.agents.explained import explained
from ostrom.answers import Choice
from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.games import Game, build_game
from ostrom.games.equilibria import best_responses
from ostrom.games.scenarios import families, scenarios, shipped_cast, shipped_scenario
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.base import act
from ostrom.mechanisms.protocol import View
from ostrom.memory import MemoryView
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.replications.personas.effects import effects_of_counts
from ostrom.replications.personas.profiles import Played, played
from ostrom.replications.personas.reference import disputed
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play

LIBRARY = Library()
ALL = [(family, name) for family in families() for name in scenarios(family)]
PRESENTATIONS = ("rows", "best_responses", "own_sentences", "matrices", "prose")


def prompt(game: Game, seat: int, framing: Framing, persona: str | None = None, rows: int = 0) -> str:
    renderer = PromptRenderer(framing, LIBRARY, "direct", persona, draw_rows=lambda s: np.random.default_rng([rows, s]))
    decision = replace(act(View(game, seat, "none")), form=explained(Choice(game.named_actions(seat)), 60))
    return renderer.prompt(decision, MemoryView(), None, {}).text


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


def read_responses(text: str, names: list[str]) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], set[str]]]:
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
        given = dict(part.split(" chooses ") for part in re.split(r", | and (?=the |Player )", conditions) if part)
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


def shown(text: str, presentation: str, names: list[str], game: Game, seat: int) -> dict[tuple[str, ...], float]:
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


def test_everybodys_payoffs_in_one_table_are_what_is_scored() -> None:
    game = build_game("scenario:commons/water_crisis")
    for seat in range(4):
        framing = Framing(story="scenario", labels="actions", names="titles", payoffs="profiles")
        header, *lines = table_lines(prompt(game, seat, framing))
        assert header == [*(f"the {t}" for t in game.words.titles), "payoffs"] and len(lines) == 16
        for *names, told in lines:
            profile = tuple(game.index(s, name) for s, name in enumerate(names))
            assert tuple(float(x) for x in told.strip("()").split(",")) == tuple(game.payoff(profile))


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
    assert all(100 * k / n <= 6.7 for c in economic.values() for (who, _), (k, n) in c.items() if who == "yes")
    rate = {m: c["no", "visible"][0] / c["no", "visible"][1] for m, c in economic.items()}
    assert (rate["Qwen-7B"], rate["Qwen-32B"]) == (0.65, 0.90)


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
