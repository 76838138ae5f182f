"""A folder of prompt files replaces every word of a prompt, in the role of the system too."""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from ostrom.framing import Library
from ostrom.framing.fingerprint import hashes
from ostrom.ground.errors import RunError, StudyError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.resolve import resolve, resolve_run
from ostrom.studies.run import open_run, play_plan

OWN_WORDS = {
    "prompt.txt": """\
{% if observer %}
Two others meet.
{% else %}
{{ facts.rounds }} meetings, {{ options[0] }} or {{ options[1] }}:

{{ payoffs }}

{% if past %}
{{ past }}

{% endif %}
Meeting {{ round }}.
{% endif %}
{{ question }}
{{ instruction }}
""",
    "past.txt": "{{ rounds }}",
    "payoffs/sentences.txt": """\
{% for cell in cells %}
{{ cell.own }}/{{ cell.others[0].label }}: {{ cell.points }} {{ units }} against {{ cell.others[0].points }}.
{% endfor %}
""",
    "history/sentences.txt": (
        "{{ number }}: {{ own }}/{{ others[0].label }}, {{ points }} {{ units }} against {{ others[0].points }}."
    ),
    "turns/act.txt": """\
{% if facts.belief is defined %}
? {{ labels[1][facts.belief[0].action] }} is expected in meeting {{ round }}: {{ options | join(" or ") }}?
{% else %}
? {{ options | join(" or ") }}?
{% endif %}
""",
    "turns/predict.txt": "? {{ target if observer else 'the neighbour' }} takes {{ options | join(' or ') }}?",
    "answers/choice_direct.txt": "! I take",
    "answers/choice_social.txt": "! I take",
    "answers/choice_logprob.txt": "",
    "answers/stub.txt": "! I take",
}
# A system prompt that holds the rules, the past and the instruction; the question stands alone.
AS_SYSTEM = {
    "system.txt": """\
{{ you }} meets {{ others | join(" and ") }}, meeting {{ round }}, {{ span }} remembered.

{{ payoffs }}

On it goes with {{ facts.continuation | percent | replace(" ", "") }}.

{{ past }}

{{ instruction }}
""",
    "prompt.txt": "{{ question }}",
    "turns/act.txt": "[{{ options | join(' or ') }}]",
    "past.txt": "{{ rounds }}",
    "names/you.txt": "Myself",
    "payoffs/formula.txt": "k of {{ names | length }} give.",
    "history/compact.txt": (
        "{{ number }}) {% for player in told %}{{ player.short }}={{ player.label }}{{ ', ' if not loop.last }}"
        "{% endfor %} → {{ value | round(1) }}"
    ),
    "answers/choice_reasoned.txt": "At most {{ most_words }} words, then a line.",
    "answers/choice_direct.txt": "A line.",
}
BEGINNING = """\
Player 1 meets Player 2 and Player 3, meeting 4, 2 remembered.

k of 3 give.

On it goes with 99%.

2) Myself=A0, P2=A1, P3=A1 → 0.5
3) Myself=A0, P2=A1, P3=A1 → 0.5

"""


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


def test_the_beginning_of_the_reply_comes_from_a_file_or_is_not_given(tmp_path: Path, asked: list[Request]) -> None:
    agent = {"style": "logprob", "framing": {"labels": "JF"}, "prompts": "printed"}
    for stub in ("! I take", ""):
        write(tmp_path / "printed", {"answers/stub.txt": stub})
        played(study(tmp_path, agent=agent), tmp_path / f"to{stub}")  # it tells no probabilities: the match fails
    assert [(m.role, m.content) for m in asked[0].messages][1:] == [("assistant", "! I take")]
    assert [m.role for m in asked[-1].messages] == ["user"]


@pytest.mark.usefixtures("asked")
def test_payoffs_that_are_a_players_own_are_not_told_to_an_observer(tmp_path: Path) -> None:
    types = {"one": "constant:0", "two": "alternator", "model": "scripted/first"}
    rules = {"name": "repetition", "rounds": 2, "predict": "observer"}
    agent = {"framing": {"payoffs": "rows"}}
    with pytest.raises(StudyError, match="payoffs: rows tells a player its own payoffs; an observer has none"):
        resolve(study(tmp_path, types=types, mechanism=rules, agent=agent, observers=["model"]))


@pytest.mark.parametrize(("style", "ending"), [("reasoned", "At most 500 words, then a line."), ("direct", "A line.")])
def test_a_whole_prompt_in_the_role_of_the_system_with_and_without_reasoning(
    style: str, ending: str, tmp_path: Path, asked: list[Request]
) -> None:
    write(tmp_path / "printed", AS_SYSTEM)
    agent = {"style": style, "prompts": "printed", "memory": "window:2", "constrain": "never",
             "framing": {"payoffs": "formula", "words": 500, "goal": None}}  # fmt: skip
    rules = {"name": "repetition", "rounds": 4, "told_continuation": 0.99}
    types = {"model": "scripted/first", "two": "constant:1", "three": "constant:1"}
    played(study(tmp_path, agent=agent, mechanism=rules, game="public_goods", types=types), tmp_path)
    assert [(m.role, m.content) for m in asked[3].messages] == [
        ("system", BEGINNING + ending), ("user", "[A0 or A1]"),
    ]  # fmt: skip


@pytest.mark.parametrize("file", ["setup.txt", "goals/total.txt", "answers/choice_direct.txt", "turn.txt"])
def test_the_round_and_the_span_are_live_wherever_they_stand(file: str, tmp_path: Path, asked: list[Request]) -> None:
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


@pytest.mark.slow
def test_prompt_sets_are_a_factor_and_a_run_is_bound_to_each(tmp_path: Path, asked: list[Request]) -> None:
    write(tmp_path / "printed", OWN_WORDS)
    write(tmp_path / "short", {"turns/act.txt": "J? F?"})
    file = study(tmp_path, vary={"wording": {"set": "agent.prompts", "to": ["printed", "short", None]}})
    played(file, tmp_path)
    texts = [request.messages[-1].content for request in asked]
    assert sum(text.endswith("! I take") for text in texts) == sum("J? F?" in text for text in texts) == 10
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


def test_the_hash_of_a_file_is_that_of_the_folder_it_is_taken_from(tmp_path: Path) -> None:
    (tmp_path / "setup.txt").write_bytes(b"mine")
    own, plain = (hashes(Library(folder), ["setup.txt", "lost.txt"]) for folder in (tmp_path, None))
    assert own == {"setup.txt": blake2b(b"mine", digest_size=12).hexdigest()}
    assert plain.keys() == own.keys() and plain != own
