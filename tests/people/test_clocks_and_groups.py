"""Clocks, missed decisions, quotas, and people who play with each other."""

from pathlib import Path
from typing import Any

import pytest
from tests.people.served import Served, join, play, served, small_study, wait_for
from tests.people.studies import pair_study, whole_study

from ostrom.studies.run import open_run


def decisions(server: Served, kind: str = "act") -> list[dict[str, Any]]:
    with open_run(server.run) as run:
        return [row for row in run.rows.decisions() if row["kind"] == kind]


@pytest.mark.slow
def test_missed_rounds_are_marked_and_too_many_end_the_visit(tmp_path: Path) -> None:
    study = small_study(
        time={"decision": 1, "missed": "mark", "missed_at_most": 1, "accommodation": [1, "none"]},
        codes={"done": "C1", "timed_out": "CTIME"},
    )
    with served(tmp_path, study) as server:
        slow = server.visitor(join=True)
        slow.answer("agree")
        assert slow.title == "Time for your choices"
        slow.answer("1")
        assert 'data-left="1"' in slow.page
        slow.request("POST", "/more", {"place": slow.at}, X_Part="main")
        assert "You have more time now" in slow.page
        late = slow.at
        wait_for(lambda: bool(slow.look()) and slow.title == "Round 2 of 3")
        assert "missed" in slow.page
        slow.request("POST", "/answer", {"place": late, "answer": "J"}, X_Part="main")
        assert slow.title == "Round 2 of 3"
        wait_for(lambda: bool(slow.look()) and "CTIME" in slow.page)
        calm = server.visitor(join=True)
        calm.answer("agree")
        calm.answer("none")
        assert "data-left" not in calm.page
        play(calm)
        calm.answer("continue")
        assert "C1" in calm.page
        server.stop()
        rows = [row for row in decisions(server) if row["agent"] == "you"]
    assert [row["reading"] for row in rows] == ["missed"] * 2 + ["person"] * 3
    assert [row["action"] for row in rows[:2]] == [None, None]


@pytest.mark.slow
def test_the_move_of_the_other_is_not_in_the_page_before_its_time(tmp_path: Path) -> None:
    with served(tmp_path, small_study(time={"reveal": [1, 1.5]})) as server:
        person = server.visitor(join=True)
        person.answer("agree")
        person.request("POST", "/answer", {"place": person.at, "answer": "J"}, X_Part="main")
        assert person.at == "wait" and "<td>" not in person.page
        person.settled()
        assert person.title == "Round 2 of 3" and "<td>J</td>" in person.page
        server.kill()
        server.start()
        assert person.look() and person.title == "Round 2 of 3"


@pytest.mark.slow
def test_a_quota_that_fills_during_the_quiz_ends_with_a_code(tmp_path: Path) -> None:
    study = whole_study(quota=1)
    study["vary"] = {}
    with served(tmp_path, study) as server:
        people = [server.visitor() for _ in range(3)]
        for number, person in enumerate(people[:2]):
            person.request("POST", "/join", {"PROLIFIC_PID": f"p{number}", "SESSION_ID": "s"})
            person.answer("agree")
            person.answer("continue")
        for person in people[:2]:
            person.answer(rounds="1", same="0")
        assert people[0].title == "Round 1 of 3" and "CFULL" in people[1].page
        people[2].request("POST", "/join", {"PROLIFIC_PID": "p2", "SESSION_ID": "s"})
        people[2].settled()
        assert "CFULL" in people[2].page


@pytest.mark.slow
def test_two_people_play_with_each_other_through_a_kill(tmp_path: Path) -> None:
    with served(tmp_path, pair_study(lobby={"wait": 300})) as server:
        one, two = join(server, "a", "b")
        for person in (one, two):
            person.settled()
        assert one.title == two.title == "Round 1 of 3"
        one.request("POST", "/answer", {"place": one.at, "answer": "J"}, X_Part="main")
        assert one.at == "wait" and "F" not in one.page.partition("<main")[2].partition("</main>")[0][:1]
        server.kill()
        server.start()
        assert one.look() and one.at == "wait"
        two.answer("F")
        one.settled()
        assert "<td>F</td>" in one.page and "<td>J</td>" in two.page
        for move in "JJ":
            one.request("POST", "/answer", {"place": one.at, "answer": move}, X_Part="main")
            two.answer(move)
            one.settled()
        for person in (one, two):
            assert person.title == "Thank you"
            person.answer("continue")
            assert "CDONE" in person.page
        server.stop()
        rows = decisions(server)
    assert len(rows) == 6 and {row["reading"] for row in rows} == {"person"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "reading"), [pytest.param("end-match", None, marks=pytest.mark.slow), ("agent:script", "scripted")]
)
def test_a_partner_who_leaves_is_recorded(tmp_path: Path, rule: str, reading: str | None) -> None:
    study = pair_study(lobby={"wait": 2, "departed": rule})
    if reading:
        study["types"]["script"] = "tit_for_tat"
    with served(tmp_path, study) as server:
        one, two = join(server, "a", "b")
        for person in (one, two):
            person.settled()
        two.request("POST", "/leave", {"how": "departed"})
        assert "CDEP" in two.page
        one.answer("J")
        if reading is None:
            assert one.title == "Thank you" and "ended early" in one.page
        else:
            one.answer("J")
            one.answer("J")
            assert one.title == "Thank you" and "ended early" not in one.page
        (late,) = join(server, "c")
        assert "looking for other players" in late.page
        wait_for(lambda: bool(late.look()) and "CNOP" in late.page)
        server.stop()
        rows = decisions(server)
    taken = [row for row in rows if row["note"] and row["note"].startswith("departed")]
    assert len(taken) == (3 if reading else 0)
