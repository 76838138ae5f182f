"""Studies as Python states them: which changes win, what options they keep, and how they are shown."""

import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import ostrom
from ostrom.api.threads import in_a_thread
from ostrom.data.tables import export_rows
from ostrom.ground.errors import OstromError, UsageError
from ostrom.models.providers import scripted
from ostrom.studies.run import open_run as open_folder

STUDY: dict[str, Any] = {
    "name": "duel",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 4},
    "types": {"tft": "tit_for_tat", "all_d": "defector"},
    "seeds": 3,
}


@pytest.mark.parametrize(
    ("given", "factors"),
    [
        ({"vary": {"mechanism.rounds": [2, 3]}}, {"rounds": [2, 3]}),
        ({"vary": {"mechanism.rounds": (2,), "game": ["stag_hunt", "chicken"]}},
         {"rounds": [2], "game": ["stag_hunt", "chicken"]}),
        ({"set": {"vary.game": ["chicken"]}, "vary": {"game": ["stag_hunt"]}}, {"game": ["stag_hunt"]}),
        ({"set": ["vary.game=[chicken]"], "vary": {"mechanism.rounds": [1]}}, {"game": ["chicken"], "rounds": [1]}),
        ({}, {}),
    ],
)  # fmt: skip
def test_what_varies_comes_after_what_is_set(given: dict[str, Any], factors: dict[str, list[Any]]) -> None:
    assert ostrom.study(STUDY, **given).factors == factors


def test_options_of_a_study_are_kept_for_playing(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai/gpt-test: {input: 1, output: 2}", encoding="utf-8")
    made = ostrom.study(
        STUDY, seeds=2, budget_usd=1.5, budget_calls=7, budget_tokens=9, prices=str(prices),
        set={"mechanism.rounds": 6},
    )  # fmt: skip
    options = made.options
    assert (options.budget_usd, options.budget_calls, options.budget_tokens) == (1.5, 7, 9)
    assert options.prices == prices and (options.prompts, options.registered) == (None, None)
    rules = made.plan.study.mechanism
    assert made.plan.study.seeds == 2 and isinstance(rules, dict) and rules["rounds"] == 6
    assert made.given is not None and made.given["budget_calls"] == 7


def test_a_study_is_shown_with_its_size_and_what_it_varies() -> None:
    varied = ostrom.study(STUDY, vary={"game": ["stag_hunt", "chicken"]})
    assert repr(varied) == f"<Study duel: {len(varied.plan)} matches, varies game (2)>"
    assert repr(ostrom.study(STUDY)).endswith("varies nothing>")
    page = varied._repr_html_()
    assert page.startswith("<b>duel</b>") and "<th>game</th><td>stag_hunt, chicken</td>" in page


def test_changes_that_cannot_be_read_are_one_line() -> None:
    with pytest.raises(UsageError, match=r"^set: must be a mapping or a list of KEY=VALUE \(found 'seeds=2'\)$"):
        ostrom.study(STUDY, set="seeds=2")
    with pytest.raises(OstromError, match="facts"):
        ostrom.study(STUDY, set={"agent.facts": {"x": {1, 2}}})


def test_work_in_a_thread_gives_its_value_its_error_and_the_handler_of_interrupts_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = list[Any]()

    def work() -> str:
        seen.append((signal.getsignal(signal.SIGINT), threading.current_thread().name))
        return "done"

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert in_a_thread(work, lambda _: None) == "done"
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [(signal.default_int_handler, "ostrom")]
    with pytest.raises(ZeroDivisionError):
        in_a_thread(lambda: 1 / 0, lambda _: None)
    assert in_a_thread(lambda: in_a_thread(lambda: 2, lambda _: None), lambda _: None) == 2


def test_a_run_is_asked_for_its_tables_state_and_files(tmp_path: Path) -> None:
    run = ostrom.play({**STUDY, "seating": "ordered", "seeds": 1}, runs=tmp_path, progress=False, limit=3)
    assert (run.name, run.path, run.registered) == ("duel", tmp_path / "duel", None)
    assert repr(run) == "<Run duel: 3 of 4 matches played>"
    assert run.matches.height == 6 and run.calls.height == 0
    first = run.sql("SELECT match, round, player FROM decisions ORDER BY match, round, player LIMIT 3")
    assert first.columns == ["match", "round", "player"] and first["player"].to_list() == [1, 2, 1]
    estimates = run.estimate("cooperation", by=["agent"])
    assert estimates["agent"].to_list() == ["tft", "all_d"]
    assert all("3 of 4" in note for note in estimates["note"]), "an unfinished run says so"
    told = run.transcript(1, round=2, player=2)
    assert [(one["round"], one["player"]) for one in told] == [(2, 2)]
    files = run.export(format="jsonl", out=tmp_path / "a" / "b")
    assert files["matches"] == tmp_path / "a" / "b" / "matches.jsonl"
    assert len(files["matches"].read_text(encoding="utf-8").splitlines()) == 6
    with run.data() as data, open_folder(run.path) as opened:
        written = export_rows(opened.rows, "csv", tmp_path / "c" / "d", tables=["matches"])
        assert {name: (path.name, count) for name, (path, count) in written.items()} == {"matches": ("matches.csv", 6)}
        assert data.planned == 4
    with pytest.raises(UsageError, match="as_ and reference need as_paper=True"):
        run.report(reference="x")
    whole = ostrom.play({**STUDY, "seating": "ordered", "seeds": 1}, runs=tmp_path, progress=False)
    assert repr(whole) == "<Run duel: 4 of 4 matches played>" and str(whole.path) == whole.__fspath__()
    assert all("of 4" not in (note or "") for note in whole.estimate("cooperation", by=["agent"])["note"])
    slope = whole.contrast("cooperation", "agent", "tft - all_d")
    assert slope["value"].to_list() == [pytest.approx(slope["value"][0])] and slope["value"][0] > 0


def test_matches_that_were_skipped_are_over_too(tmp_path: Path) -> None:
    study = {
        "name": "s", "game": "chicken", "types": {"a": "scripted/rubbish"}, "seating": "self", "seeds": 2,
        "invalid": {"retries": 0, "policy": "skip-match"},
    }  # fmt: skip
    scripted.register("rubbish", "nothing")
    try:
        run = ostrom.play(study, runs=tmp_path, progress=False)
    finally:
        scripted.unregister("rubbish")
    assert repr(run) == "<Run s: 2 of 2 matches played>"
