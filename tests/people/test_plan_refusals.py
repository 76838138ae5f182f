"""Studies with people that cannot be served, and what stands beside them: one line each."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.people.test_schema import QUIZ, study

from ostrom.ground.errors import RunError, StudyError
from ostrom.people.payment import Payment, add_payments, completion_link, read_payments
from ostrom.people.pictures import address_of, content_type, find_pictures, read_pictures
from ostrom.people.pilot import ignore_register
from ostrom.people.schema import Source
from ostrom.people.sources import LinkReader
from ostrom.people.text_files import read_texts
from ostrom.studies.load import load_study
from ostrom.studies.resolve import resolve

PNG = b"\x89PNG\r\n\x1a\n1"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seeds": 2}, "seeds: people come once each: leave seeds out (found 2)"),
        ({"types": {"a": "grim", "b": "tit_for_tat"}}, "types: no seat is taken by people: a type needs 'person: web'"),
        (
            {"types": {"a": {"person": True}, "b": {"person": "web"}}},
            "types: a person at the terminal cannot be served: write 'person: web'",
        ),
        ({"seating": "ordered"}, "seating: with people a cell has one seating (found"),
        (
            {"vary": {"q": {"set": "people.quota", "to": [1, 2]}}},
            "vary.q: cannot be varied (found 'people.quota'; allowed: people.matches, ",
        ),
        (
            {"vary": {"n": {"set": "mechanism.rounds", "to": list(range(1, 1002))}}},
            "vary: makes 1001 cells, at most 1000 with people",
        ),
        (
            {"people.lobby": {"stand_in": "you"}},
            "people.lobby.stand_in: names no type of agent (found 'you'; allowed: other)",
        ),
        (
            {"people.lobby": {"stand_in": "nobody"}},
            "people.lobby.stand_in: names no type of agent (found 'nobody'; allowed: other)",
        ),
        (
            {"people.lobby": {"departed": "agent:you"}},
            "people.lobby.departed: names no type of agent (found 'you'; allowed: other)",
        ),
        (
            {"mechanism": "contracting", "people.time": {"decision": 20}},
            "people.time.decision: mechanism contracting has no rule for missed decisions",
        ),
        (
            {"vary": {"m": {"one": {"people.matches": ["game"]}, "two": {"people.matches": ["game", "game"]}}}},
            "match: 2",
        ),
    ],
)
def test_a_study_that_cannot_be_served_is_refused(change: dict[str, Any], said: str) -> None:
    made = study()
    for key, value in change.items():
        if key.startswith("people."):
            made["people"][key.removeprefix("people.")] = value
        else:
            made[key] = value
    with pytest.raises(StudyError) as refused:
        resolve(made)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_a_type_that_only_stands_in_takes_no_seat_of_its_own() -> None:
    made = study(lobby={"stand_in": "spare", "departed": "agent:gone"})
    made["types"] |= {"spare": "grim", "gone": "defector"}
    plan: Any = resolve(made).plan
    cell = plan.variant(0, "game")
    assert [seated.name for seated in cell.seatings[0]] == ["other", "you"]
    assert set(cell.types) == {"other", "you", "spare", "gone"} and cell.types["gone"].kind != "person"
    assert plan.human_players(0, "game") == (1,) and plan.cell_name(0) == "all"
    assert plan.resume_hint({}) == "is a study with people; `ostrom serve` with its study file goes on with it"
    assert plan.stride == 4, "a visit, its match, and a place for each seat"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"), (b"\x89PNG\r\n\x1a", None), (b"\xff\xd8\xff\xe0", "image/jpeg"), (b"\xff\xd8", None),
        (b"GIF87a", "image/gif"), (b"GIF88a", None), (b"RIFF1234WEBP", "image/webp"), (b"RIFF1234WAVE", None),
        (b"RIFX1234WEBP", None), (b"", None),
    ],
)  # fmt: skip
def test_a_picture_is_told_by_its_content(data: bytes, kind: str | None) -> None:
    assert content_type(data) == kind


def test_a_picture_that_changed_since_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.PNG").write_bytes(PNG)
    marks = find_pictures({"t.md": "![x](a.PNG) ![y](a.PNG)", "q.yaml": "![z](b.png)"}, tmp_path, "s.yaml")
    ((name, mark),) = marks.items()
    assert name == "a.PNG" and address_of(name, mark) == f"/picture/{mark[:32]}.png"
    assert read_pictures(marks, tmp_path, "s.yaml") == {address_of(name, mark): (PNG, "image/png")}
    (tmp_path / "a.PNG").write_bytes(PNG + b"2")
    with pytest.raises(StudyError, match=r"a\.PNG: is another picture than when the study was read$"):
        read_pictures(marks, tmp_path, "s.yaml")


def test_a_study_has_so_many_pictures_at_the_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostrom.people.pictures.MOST", 2)
    for name in "abc":
        (tmp_path / f"{name}.png").write_bytes(PNG)
    text = "![x](a.png) ![x](b.png) ![x](a.png)"
    assert len(find_pictures({"t.md": text}, tmp_path, "s.yaml")) == 2
    with pytest.raises(StudyError, match=r"t\.md: has more than 2 pictures$"):
        find_pictures({"t.md": f"{text} ![x](c.png)"}, tmp_path, "s.yaml")


def test_a_text_is_a_plain_file_in_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people: Any = load_study(study()).people
    people = people.model_copy(update={"texts": {}})
    for name, words in (("consent.md", "Yes?"), ("quiz.yaml", QUIZ)):
        (tmp_path / name).write_text(words)
    text = tmp_path / "instructions.md"
    for data, said in ((b"\xff\xfe", "is not a text file in UTF-8"), (b"a" * 9, "is no plain file of at most 8 bytes")):
        text.write_bytes(data)
        with monkeypatch.context() as patch:
            if "8 bytes" in said:
                patch.setattr("ostrom.people.text_files.LONGEST", 8)
                (tmp_path / "quiz.yaml").write_text("")
            with pytest.raises(StudyError, match=rf"people\.visit: {said} \(found 'instructions\.md'\)$"):
                read_texts(people, tmp_path, "s.yaml")
        (tmp_path / "quiz.yaml").write_text(QUIZ)
    text.unlink()
    os.mkfifo(text)
    with pytest.raises(StudyError, match=r"is no plain file"):
        read_texts(people, tmp_path, "s.yaml")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("  - text: Und?\n    options: [ja, nein]\n    answer: ja\n", "has 2 questions, the first language has 1"),
        (None, "question q1 differs from the first language in more than its words"),
    ],
)
def test_questions_are_as_many_and_alike_in_every_language(change: str | None, said: str) -> None:
    german = QUIZ.replace("[5, 10]", "[5, 10, 15]") if change is None else QUIZ + change
    texts = {"consent.md": "Yes?", "instructions.md": "So.", "quiz.yaml": QUIZ, "consent.de.md": "Ja?"}
    texts |= {"instructions.de.md": "So.", "quiz.de.yaml": german}
    with pytest.raises(StudyError, match=rf"quiz\.de\.yaml: {said}"):
        load_study(study(languages=["en", "de"], texts=texts))


@pytest.mark.parametrize(
    ("source", "links"),
    [
        ("lab", ["b/?seat=1", "b/?seat=2"]),
        ("prolific", ["b/?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"]),
        ("sona", ["b/?sona_id=%SURVEY_CODE%"]),
    ],
)
def test_every_source_has_links_of_its_form(source: Any, links: list[str]) -> None:
    made = LinkReader(Source(name=source, places=2 if source == "lab" else None), b"k" * 32, Path())
    assert made.links("b") == links


def test_a_form_passes_on_what_its_source_knows_alone() -> None:
    reader = LinkReader(Source(name="lab", places=2), b"k" * 32, Path())
    assert reader.parameters({"seat": "1", "evil": "x"}) == [("seat", "1")] and reader.parameters({}) == []


def test_people_return_to_prolific_with_their_code_alone() -> None:
    assert completion_link("prolific", "C1") == "https://app.prolific.com/submissions/complete?cc=C1"
    assert completion_link("prolific", "") is None is completion_link("mturk", "C1")


def test_a_ledger_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    assert read_payments(tmp_path) == {}
    add_payments(tmp_path, [Payment("a,b", "1.00", "GBP", "one.csv")])
    assert read_payments(tmp_path) == {"a,b": Payment("a,b", "1.00", "GBP", "one.csv")}
    ledger = tmp_path / "payments.csv"
    assert ledger.stat().st_mode & 0o777 == 0o600
    ledger.write_text("a,1,GBP,f\nb,2,GBP\n")
    with pytest.raises(RunError, match=r"line 2 is no payment \(allowed: code,amount,currency,file\)$"):
        read_payments(tmp_path)
    ledger.write_bytes(b"\xff")
    with pytest.raises(RunError, match=r"payments\.csv: the ledger of payments cannot be read: "):
        read_payments(tmp_path)


def test_the_register_is_kept_out_of_version_control_once(tmp_path: Path) -> None:
    file = tmp_path / ".gitignore"
    ignore_register(tmp_path)
    written = file.read_bytes()
    assert written == b"people.db*\n"
    ignore_register(tmp_path)
    assert file.read_bytes() == written
    file.write_bytes(b"own\n")
    ignore_register(tmp_path)
    assert file.read_bytes() == b"own\n" + written
    with pytest.raises(RunError, match=r"\.gitignore: cannot be written \(No such file or directory\)$"):
        ignore_register(tmp_path / "none")
