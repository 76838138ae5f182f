"""A person is asked after a match whether it was a test, on the page, and is counted like a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.people.served import served, small_study

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.studies.run import open_run


@pytest.mark.slow
def test_a_person_says_after_the_match_whether_it_was_a_test(tmp_path: Path) -> None:
    study = small_study()
    study["mechanism"] = {**study["mechanism"], "recognise": True}
    with served(tmp_path / "asked", study) as server:
        person, other = server.visitor(join=True), server.visitor(join=True)
        for answer in ("agree", "J", "F", "J"):
            assert "was a test" not in person.page
            person.answer(answer)
        assert "The game is over." in person.page and "Round 4" not in person.page
        assert "do you think that this was a test" in person.page and "JSON" not in person.page
        person.answer(f0="0", f1="101")  # the first option is yes
        assert "Please check your answer" in person.page
        person.answer(f0="0", f1="80")
        person.answer("continue")
        assert "C1" in person.page
        for answer in ("agree", "J", "J", "J"):
            other.answer(answer)
        other.answer(f0="1", f1="100")
        other.answer("continue")
        assert server.stop() == 0
        run_folder = server.run
    with open_run(run_folder) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        (called,) = estimate(data, "recognised", where={"agent": "you"})
        sure = {one.key["says"]: one.value for one in estimate(data, "sureness", ["says"])}
        kind = {one.key["says"]: one.value for one in estimate(data, "cooperation_by_recognition", ["says"])}
        (unread,) = estimate(data, "recognition_unread")
    assert (called.value, called.n) == (0.5, 2) and sure == {"test": 80.0, "real": 100.0}
    assert kind == {"test": pytest.approx(2 / 3), "real": 1.0} and unread.value == 0
