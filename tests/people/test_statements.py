"""People state their strategies at the end of a match, like models, and are scored in the same way."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.people.served import served, small_study

from ostrom.data.rundata import run_data
from ostrom.features.inference.said import statements
from ostrom.studies.run import open_run


@pytest.mark.slow
def test_a_person_is_asked_for_its_strategy_before_the_debriefing(tmp_path: Path) -> None:
    study = small_study()
    study["mechanism"] = {**study["mechanism"], "state": "after"}
    with served(tmp_path / "said", study) as server:
        person = server.visitor(join=True)
        for answer in ("agree", "J", "F", "J"):
            person.answer(answer)
        assert "The game is over." in person.page and "Round 4" not in person.page
        assert "State the strategy by which you have played." in person.page
        assert "after a round in which you chose J and" in person.page
        assert "JSON" not in person.page and "keys" not in person.page
        # First J; J after both chose J, F otherwise: the third round breaks it.
        person.answer(f0="100", f1="100", f2="0", f3="0", f4="0")
        person.answer("continue")
        assert "C1" in person.page
        assert server.stop() == 0
        run_folder = server.run
    with open_run(run_folder) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        (said,) = [s for s in statements(data) if s.agent == "you"]
    assert said.rounds == ((0, 0), (1, 0), (0, 1))
    assert (said.agreement, said.divergence) == (1 / 3, 2)
