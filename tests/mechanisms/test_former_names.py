"""Names that parts of outside packages define, read or call since 1.0 go on working."""

from importlib import import_module
from typing import Any

import pytest

from ostrom.agents.language import Style
from ostrom.analysis.references import Reference
from ostrom.engine.plan import Plan
from ostrom.games.game import Game
from ostrom.mechanisms.base import Mechanism
from ostrom.memory.base import Memory

PUBLIC = {
    "ostrom.mechanisms.base:Mechanism": """
        allowing any_game array_rules brief bystander check decisions_of earlier fit generation generations
        given lasting longest_history may_miss may_talk missing most_decisions most_rounds name observers
        one_shot play population preparation sized society spreads survival
    """,
    "ostrom.memory.base:Memory": """
        asks due grows invents lacks most_lines most_notes name note_form readers show takes_notes
    """,
    "ostrom.games.game:Game": """
        actions amount as_journaled begin best_total citation cooperates cooperative defective expected formerly
        formula has_action has_table index index_of name named named_actions params payoff payoff_told payoffs
        play profiles roles seats stages stateful theory theory_payoffs title turns value words
    """,
    "ostrom.ground.streams:Streams": """
        about at chance match origin root seed since
    """,
    "ostrom.agents.strategy:Strategy": """
        about_amounts automaton choose citation fixed_rounds forget games_of_two memory_depth mix move name
        needs_cooperation odds stochastic title tolerance
    """,
    "ostrom.agents.past:Past": """
        cooperated cooperated_throughout defected_throughout defectors i_cooperated others own
    """,
    "ostrom.mechanisms.protocol:View": """
        facts game history mechanism names round seat
    """,
    "ostrom.mechanisms.protocol:Round": """
        actions expected facts missed number payoffs players void
    """,
    "ostrom.mechanisms.protocol:Decision": """
        agent form kind player view
    """,
    "ostrom.mechanisms.protocol:Outcome": """
        facts rounds scores
    """,
    "ostrom.models.base:Reply": """
        facts finish id logprobs model reasoning reasoning_kind text usage
    """,
    "ostrom.models.base:Request": """
        constraint lasting messages params tools top_logprobs
    """,
    "ostrom.models.base:Usage": """
        cached input kept output reasoning
    """,
    "ostrom.analysis.references:Reference": """
        arms arms_differ_by citation columns held left_out name of_arms own protocol published remarks spread
    """,
    "ostrom.agents.language:Style": """
        answer calls lacks likely_tokens most_tokens name questions
    """,
    "ostrom.engine.plan:Plan": """
        adopt agents arrivals asked base budget counts divided factors file forked_from games generations
        gone_on_with group hidden kind library models name people_tables planned played policy preparations
        progress prompts provide read refused registered resolved retries round_columns run_name settings shard
        so_far trees unit units
    """,
    "ostrom.models.batches:BatchEndpoint": """
        after cancel close create encode is_ours json limits lines listed page read results retrieve root
        transport upload who
    """,
    "ostrom.analysis.measure:Measure": """
        bounds bounds_of check columns definition former name needs rows scale source title unit values
    """,
    "ostrom.reports.panel:Panel": """
        draw title
    """,
}
"""The public names of 1.0 by class, without `Mechanism.for_people`: people answer everything since 2.0."""

IMPORTED = {
    "ostrom.agents.past": "Past",
    "ostrom.agents.strategies._declared": "MemoryOne Provoked",
    "ostrom.agents.strategy": "C D Reciprocator",
    "ostrom.analysis.estimate": "contrast estimate trend",
    "ostrom.analysis.measure": "Measure",
    "ostrom.analysis.references": "Games Own Published Reference number published_rows",
    "ostrom.cli.options": "Runs",
    "ostrom.cli.output": "write",
    "ostrom.data.rundata": "RunData",
    "ostrom.games.amounts": "Amounts IDLE",
    "ostrom.games.function": "Due End FunctionGame Now Stages",
    "ostrom.games.game": "Game",
    "ostrom.games.parameters": "number whole",
    "ostrom.games.tensor": "symmetric_2x2",
    "ostrom.ground.parameters": "Amount Ge Le Number Share checked",
    "ostrom.ground.streams": "Streams",
    "ostrom.mechanisms.base": "Mechanism act choice_of profile_of",
    "ostrom.mechanisms.parameters": "amount whole",
    "ostrom.mechanisms.protocol": "Decision Outcome Play Round View",
    "ostrom.models": "Abilities Reply Request Usage",
    "ostrom.models.asking": "refuse_beyond",
    "ostrom.studies.run": "open_run",
    "ostrom.testing.check_measure": "check_measure",
    "ostrom.testing.check_mechanism": "check_mechanism",
    "ostrom.testing.server": "LoopbackServer",
}
"""What the pages and examples of 1.0 import, without the command helpers that 2.0 replaced."""


@pytest.mark.parametrize("module", IMPORTED)
def test_what_pages_of_1_0_import_is_there(module: str) -> None:
    there = import_module(module)
    assert [name for name in IMPORTED[module].split() if not hasattr(there, name)] == []


@pytest.mark.parametrize("place", PUBLIC)
def test_every_public_name_of_1_0_is_there_or_taken_over(place: str) -> None:
    module, _, name = place.partition(":")
    part = getattr(import_module(module), name)
    present = {*dir(part), *getattr(part, "__annotations__", {})}
    assert sorted(set(PUBLIC[place].split()) - present) == []


@pytest.mark.parametrize(
    ("base", "old", "new"),
    [*((part, *pair) for part in (Game, Memory, Mechanism, Style, Reference, Plan) for pair in part._former.items())],
)
def test_a_package_of_1_0_is_heard(base: Any, old: str, new: str) -> None:
    assert getattr(base, new, None) == getattr(base, old, None)
    theirs = type("Theirs", (base,), {old: lambda self, *words: "theirs"})
    later = type("Later", (theirs,), {})
    renamed = type("Renamed", (theirs,), {new: lambda self, *words: "renamed"})
    assert [getattr(kind, new)(None) for kind in (theirs, later, renamed)] == ["theirs", "theirs", "renamed"]
    assert [getattr(kind, old)(None) for kind in (theirs, later, renamed)] == ["theirs", "theirs", "renamed"]
