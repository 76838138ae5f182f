"""One person plays one match against a strategy, and the server is killed on the way: the tables are the same."""

from pathlib import Path
from typing import Any

import pytest
from tests.people.served import served, small_study

from ostrom.studies.run import open_run

CLOCKS = ("shown", "answered", "interrupted", "run", "person", "facts")


def tables(run: Path) -> list[dict[str, Any]]:
    """All decisions, apart from what clocks and chance codes say."""
    with open_run(run) as opened:
        rows = [*opened.rows.decisions(), *opened.rows.matches()]
    return [{k: v for k, v in row.items() if k not in CLOCKS and row.get("kind") != "arrive"} for row in rows]


@pytest.mark.slow  # through a kill in `make test`: test_clocks_and_groups.py
@pytest.mark.parametrize("places", [(2,), (1, 2, 4)])
def test_a_kill_in_the_middle_of_a_match_changes_nothing(tmp_path: Path, places: tuple[int, ...]) -> None:
    found = []
    for kills in ((), places):
        with served(tmp_path / str(len(kills)), small_study()) as server:
            person = server.visitor(join=True)
            assert person.title == "Consent"
            for step, answer in enumerate(("agree", "J", "F", "J", "continue")):
                if step in kills:
                    server.kill()
                    server.start()
                    before = person.title
                    assert person.look() and person.title == before
                person.answer(answer)
            assert "C1" in person.page
            assert server.stop() == 0
            found.append(tables(server.run))
    assert found[0] == found[1]
    acts = [row["label"] for row in found[0] if row.get("kind") == "act" and row["agent"] == "you"]
    assert acts == ["J", "F", "J"]
