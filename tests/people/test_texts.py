"""Texts that people read: tables, values of the study, claims that contradict it, pictures."""

import http.client
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.people.served import served, small_study

from ostrom.ground.errors import StudyError
from ostrom.people.markdown import render
from ostrom.people.pictures import LARGEST
from ostrom.people.plan import PeoplePlan
from ostrom.people.text_checks import Values, contradictions, fill, shared
from ostrom.studies.resolve import resolve

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def study(debrief: str = "# End", instructions: str = "Hello.", **more: Any) -> dict[str, Any]:
    texts = {"consent.md": "# Consent", "instructions.md": instructions, "debrief.md": debrief}
    visit = [{"consent": "consent.md"}, {"text": "instructions.md"}, {"match": 1}, {"debrief": "debrief.md"}]
    made = small_study(visit=visit, texts=texts, time={"decision": 20}, **more)
    made["people"]["pay"] |= {"at_most": 2.5, "per_point": 0.005}
    return made


def planned(study: dict[str, Any]) -> PeoplePlan:
    plan = resolve(study).plan
    assert isinstance(plan, PeoplePlan)
    return plan


def test_tables_are_tables() -> None:
    html = str(render("before\n| You | *Other* |\n|:---|---|\n| J | 6 \\| <b> |\n| F |\nafter | that"))
    assert "<p>before</p>" in html and '<th scope="col">You</th><th scope="col"><em>Other</em></th>' in html
    assert "<tr><td>J</td><td>6 | &lt;b&gt;</td></tr>" in html and "<tr><td>F</td><td></td></tr>" in html
    assert html.count("<tr>") == 4  # a line with a bar goes on with the table, as in other Markdowns
    assert "<table" not in str(render("a | b\nc | d")) and "<table" not in str(render("a | b | c\n|---|---|"))
    assert "<table" not in str(render("| a | b |\n"))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("#### a", "<h4>a</h4>"), ("##### a", "<p>##### a</p>"), ("#a", "<p>#a</p>"), ("a\r\nb", "<p>a b</p>"),
        ("a\n\nb", "<p>a</p>\n<p>b</p>"), ("- a\n  b\nc", "<ul>\n<li>a b</li>\n</ul>\n<p>c</p>"),
        ("1. a\n- b", "<ol>\n<li>a</li>\n</ol>\n<ul>\n<li>b</li>\n</ul>"),
        ("a\n- b", "<p>a</p>\n<ul>\n<li>b</li>\n</ul>"),
        ("**a** *b* 2*3*4", "<p><strong>a</strong> <em>b</em> 2*3*4</p>"), ("1000. a", "<p>1000. a</p>"),
        ("[a](javascript:x)", "<p>[a](javascript:x)</p>"), ("x ![a](p.png) y", '<p>x <img src="p.png" alt="a"> y</p>'),
        ("see [a](https://b.c)!", '<p>see <a href="https://b.c" rel="noreferrer">a</a>!</p>'),
    ],
)  # fmt: skip
def test_the_small_markdown_of_texts(text: str, html: str) -> None:
    assert str(render(text)) == html


def test_a_table_of_hostile_lines_is_rendered_in_time() -> None:
    for line in ("|" * 50_000, "| - " * 20_000, "|-" * 50_000 + "x", "-" * 100_000, "![" * 50_000):
        render(f"a|b\n{line}\n{line}")


def test_values_of_the_study_stand_in_texts() -> None:
    words = (
        "{{ rounds }} rounds, {{matches}} game, {{ time.decision }} s, {{ pay.base }} {{ pay.currency }} and "
        "{{ pay.per_point }} a point, at most {{ pay.at_most }}; with {{ met }}."
    )
    plan = planned(study(words))
    shown = fill(plan.people.texts["debrief.md"], plan.values(0, "en"))
    assert shown == (
        "3 rounds, 1 game, 20 s, 1.00 GBP and 0.005 a point, at most 2.50; "
        "with a computer program that follows a fixed rule."
    )


def test_who_was_met_is_said_by_cell_and_only_where_a_cell_is_known() -> None:
    made = study("You met {{ met }}.\n\n{{ only person }} A person!\n\n{{ only strategy }} A rule.")
    made["vary"] = {"who": {"rule": {"types.other": "grim"}, "model": {"types.other": "tit_for_tat"}}}
    plan = planned(made)
    text = plan.people.texts["debrief.md"]
    assert fill(text, plan.values(0, "en")).split("\n\n")[1:] == ["A rule."]
    german = fill(text, plan.values(1, "de"))
    assert german.startswith("You met einem Computerprogramm")
    made["vary"] = {"time": {"short": {"people.time.decision": 5}, "long": {"people.time.decision": 9}}}
    made["people"]["texts"]["debrief.md"] = "You had {{ time.decision }} seconds for a choice."
    plan = planned(made)
    assert fill(plan.people.texts["debrief.md"], plan.values(1, "en")) == "You had 9 seconds for a choice."
    made["people"]["texts"]["instructions.md"] = "You have {{ time.decision }} seconds."
    made["people"]["assign"] = {"after": "instructions"}
    with pytest.raises(StudyError, match=r"instructions\.md: differs between cells.*time\.decision"):
        planned(made)
    made["people"]["assign"] = {"after": "consent"}
    planned(made)


def test_values_stand_in_questions_too() -> None:
    made = study()
    made["people"]["visit"].insert(2, {"quiz": "quiz.yaml"})
    made["people"]["visit"].insert(4, {"ask": {"name": "g", "text": "After {{ rounds }}?", "options": ["y", "n"]}})
    made["people"]["texts"]["quiz.yaml"] = (
        'questions:\n- {name: r, text: "How many?", options: [1, "{{ rounds }}"], answer: "{{ rounds }}"}\n'
    )
    plan = planned(made)
    sheet, ask = (plan.sheet(plan.people.visit[i], "en") for i in (2, 4))
    assert sheet is not None and sheet.questions[0].options == ("1", "3") and sheet.wrong({"r": "3"}) == []
    assert ask is not None and ask.questions[0].text == "After 3?"
    made["people"]["texts"]["quiz.yaml"] = made["people"]["texts"]["quiz.yaml"].replace("[1,", "[3,")
    with pytest.raises(StudyError, match=r"quiz\.yaml.*differ"):
        planned(made)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("You play **10 rounds**.", r"says '10 rounds', the study has 3 rounds; write \{\{ rounds \}\}"),
        ("A game has *ten* rounds.", "says 'has ten rounds', the study has 3 rounds"),
        ("You have 30 seconds for each choice.", "says '30 seconds', the study has 20 seconds"),
        ("You get 3 USD.", "says 'USD', the study has pay in GBP"),
        ("You get €3.", "says '€3', the study has pay in GBP"),
        ("You played with a large language model.", "says 'language model', the study has nobody meets one"),
        ("The other player was GPT.", "says 'GPT'"),
        ("{{ rouns }}", "the study has no such value.*allowed: .*rounds"),
        ("{{ time.reveal_low }}", "the study has no such value"),
        ("{{ only martians }} Hi.", "the study has no such value"),
    ],
)
def test_a_text_that_contradicts_the_study_is_refused(text: str, said: str) -> None:
    with pytest.raises(StudyError, match=said) as caught:
        planned(study(text))
    assert "debrief.md" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "A game has three rounds. If you miss more than 2 rounds, it ends. The first 2 rounds are for practice.",
        "Reading this takes about 90 seconds. You have 20 seconds for each choice.",
        "You get £1.00, that is 1.00 GBP; 1 penny counts.",
        "How often do you use language models?",
    ],
)
def test_what_is_so_or_about_something_else_is_not_refused(text: str) -> None:
    planned(study(text))


def test_money_is_judged_by_the_currency_of_the_study() -> None:
    cells = [Values({"rounds": "3"}, frozenset({"model"}))]
    assert [claim for claim, _ in contradictions("2 pence or £2 or $2 or 2 EUR", cells, "AUD")] == [
        "£2", "EUR", "2 pence",
    ]  # fmt: skip
    assert not list(contradictions("You played with a language model.", cells, "AUD"))
    (wrong,) = contradictions("You have 9 seconds to decide.", cells, "AUD")
    assert "no time limit" in wrong[1]


def test_what_all_cells_share_is_told_before_a_cell_is_known() -> None:
    rounds, model, person = {"rounds": "3", "s": "5"}, frozenset({"model"}), frozenset({"person"})
    cells = [Values(rounds, model), Values(rounds, person), Values({"rounds": "3", "s": "9"}, model)]
    assert shared(cells) == Values({"rounds": "3"}, model | person)


def test_the_time_until_a_decision_is_shown_may_be_told_by_either_end() -> None:
    cells = [Values({"time.reveal_low": "5", "time.reveal_high": "9"}, frozenset())]
    told = "The decision of the other is shown after 5 seconds or 9 seconds, not 7 seconds."
    assert [claim for claim, _ in contradictions(told, cells, "GBP")] == ["7 seconds"]


def file_of(folder: Path, line: str, pictures: dict[str, bytes]) -> Path:
    made = study()
    texts = made["people"].pop("texts") | {"instructions.md": f"# How\n\n{line}"}
    made["people"]["visit"] = [
        {kind: f"texts/{name}" if isinstance(name, str) else name for kind, name in step.items()}
        for step in made["people"]["visit"]
    ]
    (folder / "texts" / "images").mkdir(parents=True)
    for name, text in texts.items():
        (folder / "texts" / name).write_text(text)
    for name, data in pictures.items():
        (folder / "texts" / "images" / name).write_bytes(data)
    (folder / "study.yaml").write_text(yaml.safe_dump(made))
    return folder / "study.yaml"


def test_a_link_to_a_picture_elsewhere_is_refused(tmp_path: Path) -> None:
    file = file_of(tmp_path / "in", "![a board](images/a.png)", {})
    (tmp_path / "secret.png").write_bytes(PNG)
    (tmp_path / "in" / "texts" / "images" / "a.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(StudyError, match="leads out of the folder"):
        resolve(file)


@pytest.mark.slow
def test_a_picture_is_served_with_headers_that_keep_it_a_picture(tmp_path: Path) -> None:
    file = file_of(tmp_path, 'See ![a <board> of "two"](images/a.png)', {"a.png": PNG})
    with served(tmp_path, str(file), "--name", "small") as server:
        server.name = "small"
        person = server.visitor()
        person.join(server.link(1))
        person.answer("agree")
        picture = re.search(r'<img src="(/picture/[0-9a-f]{32}\.png)" alt="([^"]*)">', person.page)
        assert picture is not None and picture[2] == "a &lt;board&gt; of &quot;two&quot;"
        other = server.visitor()
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", picture[1])
        reply = connection.getresponse()
        assert reply.read() == PNG and reply.status == 200
        assert reply.headers["content-type"] == "image/png"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["content-security-policy"] == "default-src 'none'; sandbox"
        for path in ("/picture/a.png", "/picture/..%2f..%2fstudy.yaml", f"{picture[1]}x"):
            other.request("GET", path)
            assert other.status == 404
        connection.close()


@pytest.mark.parametrize(
    ("line", "pictures", "said"),
    [
        ("![](images/a.png)", {"a.png": PNG}, "needs a description"),
        ("![a board](images/b.png)", {"a.png": PNG}, "there is no such picture"),
        ("![a board](images/a.png)", {"a.png": SVG}, "is no image/png by its content"),
        ("![a board](images/a.jpg)", {"a.jpg": PNG}, "is no image/jpeg by its content"),
        ("![a board](images/a.svg)", {"a.svg": SVG}, "a picture is a file beside the texts"),
        ("![a board](../../a.png)", {}, "in or below the folder"),
        ("![a board](https://x.example/a.png)", {}, "in or below the folder"),
        ("![a board](images/a.png)", {"a.png": PNG + b"0" * LARGEST}, "no plain file of at most"),
        ("![a board](images)", {}, "a picture is a file beside the texts"),
    ],
)
def test_a_picture_is_checked(tmp_path: Path, line: str, pictures: dict[str, bytes], said: str) -> None:
    with pytest.raises(StudyError, match=said) as caught:
        resolve(file_of(tmp_path, line, pictures))
    assert "instructions.md" in str(caught.value) and "\n" not in str(caught.value)
