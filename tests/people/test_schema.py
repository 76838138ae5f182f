"""The section ``people`` of a study file: what is accepted, and the one line for what is not."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ostrom.ground.errors import StudyError
from ostrom.people.schema import Assign, Pay, Step, Times
from ostrom.studies.load import load_study

QUIZ = "questions:\n  - text: How many rounds?\n    options: [5, 10]\n    answer: 10\n"


def study(**people: Any) -> dict[str, Any]:
    section = {
        "source": {"name": "link", "places": 4},
        "quota": 2,
        "visit": [
            {"consent": "consent.md"},
            {"text": "instructions.md"},
            {"quiz": {"file": "quiz.yaml", "wrong": "instructions"}},
            {"match": 1},
        ],
        "texts": {"consent.md": "Yes?", "instructions.md": "So.", "quiz.yaml": QUIZ},
        **people,
    }
    return {
        "name": "s",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 3},
        "types": {"other": "tit_for_tat", "you": {"person": "web"}},
        "seating": "seats",
        "people": section,
    }


def test_a_whole_section_is_read() -> None:
    made = load_study(
        study(
            source={"name": "prolific", "verify": True, "keys": "keys.json"},
            assign={"rule": "least_filled", "coin": 0.2, "after": "quiz"},
            time={"decision": 20, "reveal": [5, 10], "resume_within": "30min", "accommodation": [1, 2, "none"]},
            pay={"base": 3.00, "per_point": 0.01, "at_most": 2.00},
            codes={"done": "C1"},
            keep={"people": "90d"},
        )
    ).people
    assert made is not None
    assert made.time.resume_within == 1800 and str(made.pay.per_point) == "0.01"
    assert made.visit[1].name == "instructions" and made.texts["quiz.yaml"] == QUIZ


@pytest.mark.parametrize(
    ("people", "said"),
    [
        ({"source": "facebook"}, r"people\.source\.name: .*allowed: prolific"),
        ({"source": {"name": "link"}}, "needs 'places'"),
        ({"source": {"name": "lab"}}, "needs 'places'"),
        ({"source": {"name": "sona", "places": 3}}, "places is for sources link and lab"),
        ({"source": {"name": "sona", "verify": True}}, "verify is for source prolific"),
        ({"quotta": 3}, "people.quotta: there is no such key, did you mean 'quota'"),
        ({"visit": [{"match": 2}]}, "match: 1 to match: 1"),
        ({"visit": [{"match": 1, "text": "a.md"}]}, "exactly one of"),
        ({"visit": [{"match": 1}, {"consent": "consent.md"}]}, "consent comes first"),
        ({"assign": {"after": "survey"}}, "assign.after: names no step before the first match"),
        ({"matches": ["chess"]}, "there is no game 'chess'"),
        ({"games": {"pd": {"seats": 1}}}, "only game and mechanism can differ"),
        ({"time": {"decision": "soon"}}, "length of time"),
        ({"time": {"missed_at_most": 1}}, "needs a time limit"),
        ({"time": {"decision": 0.9}}, "between 1 second and one day"),
        ({"time": {"decision": 86401}}, "between 1 second and one day"),
        ({"time": {"reveal": [2, 1]}}, "a shortest and a longest time"),
        ({"time": {"reveal": [1, 3601]}}, "at most an hour"),
        ({"time": {"resume_within": 59}}, "between one minute and 30 days"),
        ({"time": {"resume_within": 30 * 86400 + 1}}, "between one minute and 30 days"),
        ({"time": {"accommodation": [0.5]}}, "factors from 1 to 100, or none"),
        ({"time": {"accommodation": [1, 101]}}, "factors from 1 to 100, or none"),
        ({"source": {"name": "prolific", "verify": True}}, "verify needs 'keys'"),
        ({"codes": {"done": "a" * 65}}, "letters, digits"),
        ({"codes": {"done": ""}}, "letters, digits"),
        ({"visit": [{"debrief": "consent.md"}, {"match": 1}]}, "debrief comes last"),
        ({"visit": [{"match": 1}, {"match": 1}]}, r"in order, once each \(found \[1, 1\]\)"),
        ({"visit": [{"survey": "quiz.yaml"}, {"match": 1}, {"survey": "quiz.yaml"}]}, "have the same name"),
        (
            {
                "visit": [
                    {"survey": {"file": "quiz.yaml", "name": "a"}},
                    {"ask": {"name": "a", "text": "?", "free": True}},
                    {"match": 1},
                ]
            },
            "have the same name",
        ),
        (
            {"visit": [{"quiz": {"file": "quiz.yaml", "wrong": "later"}}, {"text": "later.md"}, {"match": 1}]},
            r"no text before the quiz \(found 'later', allowed: none\)",
        ),
        ({"assign": {"after": "match"}}, r"allowed: consent, instructions, quiz\)"),
        ({"codes": {"done": "<b>"}}, "letters, digits"),
        ({"texts": {"consent.md": "x", "instructions.md": "y", "quiz.yaml": "questions: []"}}, "quiz.yaml"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(people: dict[str, Any], said: str) -> None:
    with pytest.raises(StudyError, match=said) as caught:
        load_study(study(**people))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        (Times, "decision", 1), (Times, "decision", 86400), (Times, "reveal", (1, 1)), (Times, "reveal", (0, 3600)),
        (Times, "resume_within", 60), (Times, "resume_within", 30 * 86400), (Times, "accommodation", (1, 100, "none")),
        (Assign, "coin", 0), (Assign, "coin", 1),
    ],
)  # fmt: skip
def test_the_last_value_that_fits_is_taken(section: type[Times | Assign], key: str, value: Any) -> None:
    assert getattr(section(**{key: value}), key) == value


def test_a_decimal_is_meant_as_written_and_steps_have_names() -> None:
    assert Pay(per_point=0.1).per_point == Decimal("0.1")
    assert [Step(text="a/b.c.md").name, Step(debrief="end.md").name, Step(consent="c.md").name] == [
        "c", "end", "consent",
    ]  # fmt: skip
    assert Step(quiz="q.yaml").file == "q.yaml" and Step(match=1).file is None
    assert (Times().resume_within, Assign().coin, Assign().rule) == (1800, 0.2, "least_filled")


def test_texts_lie_beside_the_study_and_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "in" / "link.md").symlink_to(tmp_path / "secret.md")
    for name, said in (("a/../../secret.md", "in or below"), ("link.md", "leads out"), ("none.md", "no such text")):
        file = tmp_path / "in" / "s.yaml"
        file.write_text(
            "name: s\ngame: prisoners_dilemma\ntypes: {a: grim, b: {person: web}}\nseating: seats\n"
            f"people: {{source: {{name: link, places: 1}}, quota: 1, visit: [{{text: {name}}}, {{match: 1}}]}}\n"
        )
        with pytest.raises(StudyError, match=said):
            load_study(file)
