"""The wording that papers print is reproduced to the character by a folder of prompt files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostrom.ground.errors import RunError, StudyError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.resolve import resolve, resolve_run
from ostrom.studies.run import open_run, play_plan

# Akata et al. (2025), Figures 1 and 6, and the two calls of social chain of thought.
REPEATED_GAMES = {
    "prompt.txt": """\
{% if observer %}
Two players are playing a game repeatedly with another player.
{% else %}
You are playing a game repeatedly with another player. In this game, you can choose between Option {{ options[0] }} \
and Option {{ options[1] }}. You will play {{ facts.rounds }} rounds in total with the same player. The rules of the \
game are as follows:

{{ payoffs }}

{% if past %}
{{ past }}

{% endif %}
You are currently playing round {{ round }}.
{% endif %}
{{ question }}
{{ instruction }}
""",
    "past.txt": "{{ rounds }}",
    "payoffs/sentences.txt": """\
{% for cell in cells %}
If you choose Option {{ cell.own }} and the other player chooses Option {{ cell.others[0].label }}, then you win \
{{ cell.points }} {{ units }} and the other player wins {{ cell.others[0].points }} {{ units }}.
{% endfor %}
""",
    "history/sentences.txt": (
        "In round {{ number }}, you chose Option {{ own }} and the other player chose Option {{ others[0].label }}. "
        "Thus, you won {{ points }} {{ units }} and the other player won {{ others[0].points }} {{ units }}."
    ),
    "turns/act.txt": """\
{% if facts.belief is defined %}
Q: Given that you think the other player will choose Option {{ labels[1][facts.belief[0].action] }} in round \
{{ round }}, which Option do you think is the best to choose for you in this round, \
{{ "Option " ~ options | join(" or Option ") }}?
{% else %}
Q: Which Option do you choose, Option {{ options | join(" or Option ") }}?
{% endif %}
""",
    "turns/predict.txt": (
        "Q: Which Option do you predict {{ target if observer else 'the other player' }} will choose, "
        "Option {{ options | join(' or Option ') }}?"
    ),
    "answers/choice_direct.txt": "A: Option",
    "answers/choice_social.txt": "A: Option",
    "answers/choice_logprob.txt": "",
    "answers/stub.txt": "A: Option",
}
ROUND_2 = """\
You are playing a game repeatedly with another player. In this game, you can choose between Option J and Option F. \
You will play 10 rounds in total with the same player. The rules of the game are as follows:

If you choose Option J and the other player chooses Option J, then you win 10 points and the other player wins 7 points.
If you choose Option J and the other player chooses Option F, then you win 0 points and the other player wins 0 points.
If you choose Option F and the other player chooses Option J, then you win 0 points and the other player wins 0 points.
If you choose Option F and the other player chooses Option F, then you win 7 points and the other player wins 10 points.

In round 1, you chose Option J and the other player chose Option F. Thus, you won 0 points and the other player won \
0 points.

You are currently playing round 2.
Q: Which Option do you choose, Option J or Option F?
A: Option"""
# The frame of the system prompt of Appendix A.2 of the memory paper, with its line of the past.
MEMORY = {
    "system.txt": """\
You are {{ you }}, playing a repeated game with {{ others[0] }}. This is round {{ round }}. You can see the most \
recent {{ span }} rounds of history.

{{ payoffs }}

Past rounds’ results:

{{ past }}
""",
    "prompt.txt": "{{ instruction }}",
    "past.txt": "{{ rounds }}",
    "payoffs/sentences.txt": "{{ facts.continuation | percent | replace(' ', '') }}",
    "history/compact.txt": "R{{ number }}: You={{ own }}, P{{ 2 }}={{ others[0].label }} → {{ value | round(1) }}",
    "answers/choice_direct.txt": "[{{ options | join(' or ') }}]",
}

# The system prompt of Appendix A.2 in full; that of the ablation (Appendix G) ends otherwise.
WHOLE = {
    "system.txt": """\
You are {{ you }}, playing a repeated game with {{ others | join(" and ") }}. This is round {{ round }}. You can see \
the most recent {{ span }} rounds of history.

{{ payoffs }}

You are playing this game repeatedly with the same player. The action you choose in the current round will be visible \
to the other player in future rounds and may influence their future decisions. After each round, there is a \
{{ facts.continuation | percent | replace(" ", "") }} chance that another round will take place. Therefore, your goal \
is to maximize your total payoff in the long run rather than only the current-round payoff.

Past rounds’ results:

{{ past }}

{{ instruction }}
""",
    "prompt.txt": "{{ question }}",
    "turns/act.txt": "[{{ options | join(' or ') }}]",
    "past.txt": "{{ rounds }}",
    "names/you.txt": "You",
    "payoffs/formula.txt": "Suppose k out of {{ names | length }} players play A0.",
    "history/compact.txt": (
        "R{{ number }}: {% for player in told %}{{ player.short }}={{ player.label }}{{ ', ' if not loop.last }}"
        "{% endfor %} → {{ value | round(1) }}"
    ),
    "answers/choice_reasoned.txt": (
        "First, briefly think about which action to choose based on the game rules, past rounds, and your long-term "
        "objective. Keep your reasoning concise and within {{ most_words }} words. Then briefly state your reasoning. "
        "Finally, you MUST start a new line and output your action in exactly the required format for the current "
        "game."
    ),
    "answers/choice_direct.txt": "Do not provide explanation. You MUST directly output ONLY your action.",
}
BEGINNING = """\
You are Player 1, playing a repeated game with Player 2 and Player 3. This is round 4. You can see the most recent 2 \
rounds of history.

Suppose k out of 3 players play A0.

You are playing this game repeatedly with the same player. The action you choose in the current round will be visible \
to the other player in future rounds and may influence their future decisions. After each round, there is a 99% \
chance that another round will take place. Therefore, your goal is to maximize your total payoff in the long run \
rather than only the current-round payoff.

Past rounds’ results:

R2: You=A0, P2=A1, P3=A1 → 0.5
R3: You=A0, P2=A1, P3=A1 → 0.5

"""
REASON = """\
First, briefly think about which action to choose based on the game rules, past rounds, and your long-term objective. \
Keep your reasoning concise and within 500 words. Then briefly state your reasoning. Finally, you MUST start a new \
line and output your action in exactly the required format for the current game."""


@pytest.fixture
def asked() -> Iterator[list[Request]]:
    """What a model that always takes its first option was asked."""
    requests: list[Request] = []

    def answer(request: Request) -> str:
        requests.append(request)
        return "A0" if "A0" in "".join(m.content for m in request.messages) else "J"

    register("first", answer)
    yield requests
    unregister("first")


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def study(tmp_path: Path, **changes: Any) -> Path:
    data: dict[str, Any] = {
        "name": "printed",
        "game": "battle_of_the_sexes",
        "mechanism": {"name": "repetition", "rounds": 10, "told_rounds": True},
        "agent": {
            "style": "direct",
            "prompts": "printed",
            "framing": {"labels": "JF", "history": "sentences", "goal": None},
            "constrain": "never",
        },
        "types": {"model": "scripted/first", "other": "constant:1"},
        "seating": "seats",
        **changes,
    }
    import json

    (tmp_path / "study.yaml").write_text(json.dumps(data), encoding="utf-8")
    return tmp_path / "study.yaml"


def played(file: Path, tmp_path: Path) -> None:
    play_plan(resolve(file).plan, name="run", runs=tmp_path / "runs")


def test_the_printed_prompt_of_the_2x2_paper_is_sent_to_the_character(
    tmp_path: Path, asked: list[Request]
) -> None:
    write(tmp_path / "printed", REPEATED_GAMES)
    played(study(tmp_path), tmp_path)
    assert [[(m.role, m.content) for m in r.messages] for r in asked][1] == [("user", ROUND_2)]
    first = asked[0].messages[0].content
    assert first.endswith("wins 10 points.\n\nYou are currently playing round 1.\nQ: Which Option do you choose, "
                          "Option J or Option F?\nA: Option")  # fmt: skip


def test_both_calls_of_the_social_prompt_and_the_stub_of_one_token(
    tmp_path: Path, asked: list[Request]
) -> None:
    write(tmp_path / "printed", REPEATED_GAMES)
    played(study(tmp_path, agent={"style": "social", "prompts": "printed", "constrain": "never",
                                  "framing": {"labels": "JF", "history": "sentences"}}), tmp_path)  # fmt: skip
    predicted, chosen = (request.messages[-1].content.splitlines()[-2:] for request in asked[2:4])
    assert predicted == [
        "Q: Which Option do you predict the other player will choose, Option J or Option F?", "A: Option",
    ]  # fmt: skip
    assert chosen == [
        "Q: Given that you think the other player will choose Option J in round 2, which Option do you think is the "
        "best to choose for you in this round, Option J or Option F?",
        "A: Option",
    ]


def test_the_beginning_of_the_reply_comes_from_a_file_or_is_not_given(
    tmp_path: Path, asked: list[Request]
) -> None:
    agent = {"style": "logprob", "framing": {"labels": "JF"}, "prompts": "printed"}
    for stub in ("A: Option", ""):
        write(tmp_path / "printed", {"answers/stub.txt": stub})
        played(
            study(tmp_path, agent=agent), tmp_path / f"to{stub}"
        )  # it tells no probabilities: the match fails
    assert [(m.role, m.content) for m in asked[0].messages][1:] == [("assistant", "A: Option")]
    assert [m.role for m in asked[-1].messages] == ["user"]


@pytest.mark.usefixtures("asked")
def test_payoffs_that_are_a_players_own_are_not_told_to_an_observer(tmp_path: Path) -> None:
    types = {"one": "constant:0", "two": "alternator", "model": "scripted/first"}
    rules = {"name": "repetition", "rounds": 2, "predict": "observer"}
    agent = {"framing": {"payoffs": "rows"}}
    with pytest.raises(
        StudyError, match="payoffs: rows tells a player its own payoffs; an observer has none"
    ):
        resolve(study(tmp_path, types=types, mechanism=rules, agent=agent, observers=["model"]))


def test_an_observer_is_asked_in_the_same_words(tmp_path: Path, asked: list[Request]) -> None:
    write(tmp_path / "printed", REPEATED_GAMES)
    types = {"one": "constant:0", "two": "alternator", "model": "scripted/first"}
    rules = {"name": "repetition", "rounds": 2, "told_rounds": True, "predict": "observer", "watched": 2}
    played(study(tmp_path, types=types, mechanism=rules, seating="seats", observers=["model"]), tmp_path)
    assert asked[0].messages[-1].content == (
        "Two players are playing a game repeatedly with another player.\n"
        "Q: Which Option do you predict Player 2 will choose, Option J or Option F?\nA: Option"
    )


def test_the_shape_of_the_memory_papers_prompt_goes_into_the_role_of_the_system(
    tmp_path: Path, asked: list[Request]
) -> None:
    write(tmp_path / "printed", MEMORY)
    agent = {"style": "direct", "prompts": "printed", "memory": "window:2", "constrain": "never"}
    rules = {"name": "repetition", "rounds": 4, "told_continuation": 0.99}
    game = {"name": "prisoners_dilemma", "preset": "memory_curse"}
    played(study(tmp_path, agent=agent, mechanism=rules, game=game), tmp_path)
    assert [(m.role, m.content) for m in asked[3].messages] == [
        (
            "system",
            "You are Player 1, playing a repeated game with Player 2. This is round 4. You can see the most recent "
            "2 rounds of history.\n\n99%\n\nPast rounds’ results:\n\n"
            "R2: You=A0, P2=A1 → -100.0\nR3: You=A0, P2=A1 → -100.0",
        ),
        ("user", "[A0 or A1]"),
    ]


@pytest.mark.parametrize(
    ("style", "ending"),
    [
        ("reasoned", REASON),
        ("direct", "Do not provide explanation. You MUST directly output ONLY your action."),
    ],
)
def test_the_whole_prompt_of_the_memory_paper_with_and_without_reasoning(
    style: str, ending: str, tmp_path: Path, asked: list[Request]
) -> None:
    write(tmp_path / "printed", WHOLE)
    agent = {"style": style, "prompts": "printed", "memory": "window:2", "constrain": "never",
             "framing": {"payoffs": "formula", "words": 500, "goal": None}}  # fmt: skip
    rules = {"name": "repetition", "rounds": 4, "told_continuation": 0.99}
    types = {"model": "scripted/first", "two": "constant:1", "three": "constant:1"}
    played(study(tmp_path, agent=agent, mechanism=rules, game="public_goods", types=types), tmp_path)
    assert [(m.role, m.content) for m in asked[3].messages] == [
        ("system", BEGINNING + ending), ("user", "[A0 or A1]"),
    ]  # fmt: skip


@pytest.mark.parametrize("file", ["setup.txt", "goals/total.txt", "answers/choice_direct.txt", "turn.txt"])
def test_the_round_and_the_span_are_live_wherever_they_stand(
    file: str, tmp_path: Path, asked: list[Request]
) -> None:
    write(tmp_path / "printed", {file: "<{{ round }}/{{ span }}>"})
    agent = {"style": "direct", "prompts": "printed", "memory": "window:3", "constrain": "never",
             "framing": {"labels": "JF", "goal": "total"}}  # fmt: skip
    played(study(tmp_path, agent=agent), tmp_path)
    texts = [request.messages[-1].content for request in asked]
    assert len(texts) == 10
    assert all(f"<{number}/3>" in text for number, text in enumerate(texts, 1))


@pytest.mark.parametrize("file", ["setup.txt", "turn.txt", "prompt.txt", "system.txt", "past.txt",
                                  "history/sentences.txt", "answers/stub.txt", "stories/neutral.txt"])  # fmt: skip
@pytest.mark.usefixtures("asked")
def test_a_variable_that_does_not_exist_is_refused_before_the_first_call(file: str, tmp_path: Path) -> None:
    write(tmp_path / "printed", {file: "{{ histroy }}"})
    with pytest.raises(StudyError, match=rf"{file}: could not be filled in: 'histroy' is undefined"):
        resolve(study(tmp_path))


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("..", "must name a folder beside the study file"),
        ("/tmp", "must name a folder beside the study file"),
        ("absent", "there is no such folder in"),
        ("link", "leads out of the folder of the study file"),
    ],
)
def test_a_prompt_set_lies_beside_the_study(name: str, problem: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (home / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StudyError, match=rf"study.yaml: agent.prompts: {problem}.* \(found {name!r}\)"):
        resolve(study(home, agent={"prompts": name}))


def test_prompt_sets_are_a_factor_and_a_run_is_bound_to_each(tmp_path: Path, asked: list[Request]) -> None:
    write(tmp_path / "printed", REPEATED_GAMES)
    write(tmp_path / "short", {"turns/act.txt": "J or F?"})
    file = study(tmp_path, vary={"wording": {"set": "agent.prompts", "to": ["printed", "short", None]}})
    played(file, tmp_path)
    texts = [request.messages[-1].content for request in asked]
    assert sum(text.endswith("A: Option") for text in texts) == sum("J or F?" in text for text in texts) == 10
    with open_run(tmp_path / "runs" / "run") as run:
        assert {row["wording"] for row in run.rows.matches()} == {"printed", "short", None}
        assert {"turns/act.txt", "short:turns/act.txt", "printed:prompt.txt"} <= set(run.manifest["prompts"])
    resolve_run(tmp_path / "runs" / "run")
    (tmp_path / "short" / "turns" / "act.txt").write_text("J, or F?")
    with pytest.raises(RunError, match=r"short:turns/act.txt was changed"):
        resolve_run(tmp_path / "runs" / "run")


def test_a_file_in_a_folder_that_nothing_reads_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "printed", {"storys/mine.txt": "Once."})
    with pytest.raises(StudyError, match=r"lies in a folder that no prompt is read from: storys"):
        resolve(study(tmp_path))
