"""People who name amounts: a field with its bounds, what is said about an impossible one, and the tables."""

from pathlib import Path
from typing import Any

import pytest
from tests.people.served import served

from ostrom.studies.run import open_run


def amounts_study() -> dict[str, Any]:
    """One person offers, returns, takes from a stock in turn, and answers an offer."""
    repeated = {"name": "repetition", "rounds": 2, "told_rounds": True}
    games = {
        "offers": {"game": "ultimatum", "mechanism": repeated},
        "halves": {"game": {"name": "dictator", "stake": 1, "step": 0.5}, "mechanism": "none"},
        "pool": {"game": {"name": "common_pool", "n": 2, "capacity": 20}, "mechanism": {**repeated, "talk": {}}},
    }
    return {
        "name": "amounts",
        "title": "Amounts",
        "game": "ultimatum",
        "types": {
            "you": {"person": "web"},
            "other": {"strategy": {"name": "constant", "action": {"reply": "accept", "harvest": 3, "give": 0}}},
        },
        "seating": "seats",
        "people": {
            "source": {"name": "link", "places": 5},
            "quota": 5,
            "games": games,
            "visit": [{"match": number} for number in range(1, len(games) + 1)],
            "codes": {"done": "CDONE"},
        },
    }


@pytest.mark.slow
def test_a_person_names_amounts_and_is_told_which_are_possible(tmp_path: Path) -> None:
    with served(tmp_path, amounts_study()) as server:
        person = server.visitor(join=True)
        assert '<input type="number" inputmode="numeric" step="1" name="answer"' in person.page
        assert 'min="0" max="100"' in person.page and '<label for="answer">' in person.page
        assert "square brackets" not in person.page and "Your actions" not in person.page
        for impossible in ("101", "-1", "1e2", "about 40", "٤٠", "1,000", "", "NaN", "9" * 400):
            page = person.answer(impossible)
            assert person.status == 422 and "a number from 0 to 100" in page, impossible
        person.answer("40")
        assert person.title == "Round 2 of 2" and "<td>40</td><td>accept</td><td>60</td><td>40</td>" in person.page
        person.answer("30")
        assert 'inputmode="decimal" step="0.5"' in person.page and 'max="1"' in person.page
        page = person.answer("0.3")
        assert person.status == 422 and "from 0 to 1 in steps of 0.5" in page
        person.answer("0.5")
        person.answer(f0="Take <i>little</i>: [3]")
        assert '<dt>You</dt><dd class="words">Take &lt;i&gt;little&lt;/i&gt;: [3]</dd>' in person.page
        assert 'max="20"' in person.page
        person.answer("10")
        person.answer(f0="")
        assert 'max="14"' in person.page  # 7 were left, and doubled
        person.answer("5")
        assert "CDONE" in person.page
        server.stop()
        with open_run(server.run) as run:
            rows = [r for r in run.rows.decisions() if r["agent"] == "you" and r["stage"]]
    assert [(r["stage"], r["amount"], r["reading"]) for r in rows] == [
        ("offer", 40, "person"), ("offer", 30, "person"), ("give", 0.5, "person"),
        ("harvest", 10, "person"), ("harvest", 5, "person"),
    ]  # fmt: skip
