"""Ways to hold a role in check: what each tells, and that the report finds out which one helps."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.games import build_game
from ostrom.games.equilibria import pure_equilibria
from ostrom.games.scenarios import families, shipped_cast
from ostrom.mechanisms.base import act
from ostrom.mechanisms.protocol import View
from ostrom.memory import MemoryView
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

SELFISH = {
    action.key
    for family in families()
    for role in shipped_cast(family).roles
    for action in role.actions
    if not action.green
}
HEARD: list[list[tuple[str, str]]] = []


def yielding(request: Request) -> str:
    """Follows its role unless the system tells it not to, or the equilibrium is stated in front of it."""
    HEARD.append([(m.role, m.content) for m in request.messages])
    said = "\n".join(m.content for m in request.messages)
    options = re.findall(r"^- (\w+): ", said, re.MULTILINE)
    payoffs = "Treat it as context" in said or "In one combination alone" in said or "no role to play" in said
    action = next(o for o in options if (o in SELFISH) == payoffs)
    if "Before you choose, compute" in said:
        return f"[{next(o for o in options if o in SELFISH)}]"
    why = "The payoff is higher." if payoffs else "As the Archivist I should do what is right."
    return orjson.dumps({"action": action, "rationale": why}).decode()


@pytest.fixture(autouse=True)
def model() -> Iterator[None]:
    HEARD.clear()
    register("yielding", yielding)
    yield
    unregister("yielding")


def loaded(*changes: str) -> Any:
    return load_study(
        "personas-mitigation",
        preset="smoke",
        models=["scripted/yielding"],
        changes=["agent.constrain=never", *changes],
        seeds=1,
    )


def test_every_mitigation_says_what_its_name_promises(tmp_path: Path) -> None:
    persona = str(shipped_cast("archive").roles[0].persona)
    play(loaded(), runs=tmp_path, name="held")
    with open_run("held", tmp_path) as run:
        by_level = {
            run.plan.unit(row["match"]).cell["mitigation"]: run.journal.prompt(row["id"])
            for row in run.rows.calls()
            if row["player"] == 1 and "best_response" not in row["part"]
        }
    said = {level: dict(messages) for level, messages in by_level.items() if messages is not None}
    plain = said["none"]["user"]
    assert plain.index(persona) < plain.index("you receive |")
    first = said["payoffs first"]["user"]
    assert first.index(persona) > first.index("you receive |")
    assert sorted(first.split()) == sorted(plain.split()), "the same words in another order"
    assert said["role in system turn"] == {"system": persona, "user": plain.replace(f"{persona}\n\n", "")}
    assert said["role as context"]["user"] == plain
    assert said["role as context"]["system"].startswith("A role is described to you below. Treat it as context")
    assert "You have computed that SEAL gives you most" in said["best response first"]["user"]
    assert "- you choose SEAL and the Publisher chooses LIFT." in said["equilibrium stated"]["user"]
    assert persona not in "".join(said["no role"].values())


@pytest.mark.parametrize("name", ["prisoners_dilemma", "battle_of_the_sexes", "matching_pennies", "public_goods"])
def test_a_stated_equilibrium_is_one_in_every_game(name: str) -> None:
    game = build_game(name)
    for seat in range(game.seats):
        voice = PromptRenderer(Framing(labels="actions", hint="equilibrium"), Library(), "direct")
        text = voice.prompt(act(View(game, seat, "none")), MemoryView(), None, {}).text
        listed = re.findall(r"^- (.* chooses? .*)\.$", text, re.MULTILINE)
        told = [re.findall(r"chooses? (\w+)", line) for line in listed if "receive" not in line]
        expected = [[game.actions[s][a] for s, a in enumerate(e.profile)] for e in pure_equilibria(game)]
        assert told == expected
        assert ("In every combination some player would gain" in text) == (not expected)


def test_casts_of_unequal_size_weigh_by_the_design_not_by_chance(tmp_path: Path) -> None:
    """Two and six roles: the number of seats is no total that chance decides about, so no jackknife and a bound."""
    scenarios = "vary.scenario={set: game, to: {from: scenarios, family: [archive, festival]}}"
    play(loaded(scenarios, "vary.mitigation={none: {agent.framing.layout: null}}"), runs=tmp_path, name="casts")
    with open_run("casts", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        (one,) = estimate(data, "best_reply")
        assert one.inference is not None and "jackknife" not in one.inference.method and one.bound_low is not None
