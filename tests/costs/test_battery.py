"""Parts of a battery: what they cost together, and what each may spend of one budget."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.costs import battery
from ostrom.costs.battery import BatteryRun, Sized, SizedPart, StudyPart, play_jobs, recorded_seeds, spent
from ostrom.costs.forecast import Forecast
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import OstromError, RunError, UsageError

SEED = Forecast(calls=10, usd_with_retries=2.0, likely_usd=1.0, likely_calls=8, assumes=("a",))


def test_a_part_costs_its_seeds_times_all_models() -> None:
    part = SizedPart(StudyPart(name="p", title="P", study="memory"), 3, (SEED, SEED))
    assert (part.usd(), part.usd(1), part.calls, part.assumes) == (6.0, 2.0, 48, ("a",))
    assert part.at_most == {"calls": 60, "usd": 12.0}
    unknown = replace(part, costs=(SEED, replace(SEED, usd_with_retries=None)))
    assert unknown.at_most == {"calls": 60, "usd": None}


def test_a_run_may_spend_what_the_others_left_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    paid, limits = {"a": 3.0, "b": 1.0}, list[float | None]()
    monkeypatch.setattr(battery, "spent", lambda folder, _: (paid[folder.name], 1))

    def plan(options: PlayOptions) -> Any:
        limits.append(options.budget_usd)

    def play(_: Any, folder: Path) -> Any:
        paid[folder.name] += 2.0
        return SimpleNamespace(interrupted=False)

    jobs = [BatteryRun(name, Path(name), "m", plan) for name in paid]
    play_jobs(jobs, play, PlayOptions(budget_usd=10.0), lambda _: None)
    assert limits == [10.0 - 1.0, 10.0 - 5.0]  # what a run has spent itself is in its own limit
    play_jobs(jobs, play, PlayOptions(), lambda _: None)
    assert limits[2:] == [None, None]


def test_somebody_who_interrupts_ends_the_battery_and_a_budget_of_zero_bounds_nothing(tmp_path: Path) -> None:
    limits, titles = list[float | None](), list[str]()

    def plan(options: PlayOptions) -> Any:
        limits.append(options.budget_usd)

    jobs = [BatteryRun(name, tmp_path / name, "m", plan) for name in ("a", "b", "c")]

    def play(_: Any, folder: Path) -> Any:
        return SimpleNamespace(interrupted=folder.name == "b")

    results, interrupted = play_jobs(jobs, play, PlayOptions(budget_usd=0), titles.append)
    assert interrupted and [job.title for job, _ in results] == titles == ["a", "b"]
    assert limits == [None, None] and spent(tmp_path / "a", PlayOptions()) == (0.0, 0)


def part_of(name: str, usd: float, **sizes: Any) -> SizedPart[StudyPart]:
    cost = replace(SEED, likely_usd=usd)
    return SizedPart(StudyPart(name=name, title=name, study="memory", **sizes), 0, (cost,))


@pytest.mark.parametrize(
    ("budget", "kept", "seeds"),
    [
        (100.0, {"a", "b"}, [10, 20]),  # nothing grows beyond its most
        (50.0, {"a", "b"}, [10, 20]),  # exactly enough
        (47.0, {"a", "b"}, [9, 19]),
        (25.0, {"a", "b"}, [5, 10]),
        (4.0, {"a", "b"}, [2, 1]),  # the least of each
        (25.0, {"b"}, [0, 12]),
    ],
)
def test_all_parts_grow_by_the_same_share_of_their_most(budget: float, kept: set[str], seeds: list[int]) -> None:
    parts = [part_of("a", 1.0, least=2, most=10), part_of("b", 2.0, least=1, most=20)]
    assert [one.seeds for one in battery._grown(parts, kept, budget, None)] == seeds


STUDY = """
name: {name}
game: prisoners_dilemma
mechanism: none
types: {{one: {{model: MODEL}}, two: cooperator}}
seating: ordered
"""
PRICES = {"openai/gpt-test": {"input": 100, "output": 100}}


def parts_in(folder: Path, **sizes: Any) -> list[StudyPart]:
    for name in ("first", "second"):
        text = STUDY.format(name=name).replace("MODEL", "openai/gpt-test")
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return [StudyPart(name=n, title=n, study=f"{n}.yaml", **sizes) for n in ("first", "second")]


def test_a_battery_is_cut_to_its_budget_part_after_part(tmp_path: Path) -> None:
    parts, groups = parts_in(tmp_path, least=2, most=6), [["openai/gpt-test"], ["openai/gpt-test"]]
    checked = list[str]()

    def sizes(budget: float | None, dry_run: bool = False) -> list[int]:
        options = PlayOptions(budget_usd=budget, prices=PRICES)
        found = battery.with_sizes(
            parts, groups, tmp_path, None, options, lambda part, _: checked.append(part.name), dry_run=dry_run
        )
        assert all(len(one.costs) == 2 for one in found), "every group plays a run of its own"
        return [one.seeds for one in found]

    assert sizes(None, dry_run=True) == [6, 6] and checked == ["first", "first", "second", "second"]
    cost = battery.with_sizes(parts, groups, tmp_path, None, PlayOptions(budget_usd=99.0, prices=PRICES))[0].usd(1)
    assert cost > 0 and sizes(12 * cost) == [6, 6] and sizes(8 * cost) == [4, 4]
    assert sizes(4 * cost) == [2, 2], "the least of both is just enough"
    assert sizes(3.9 * cost) == [3, 0] and sizes(2 * cost) == [2, 0], "the second part is left out"
    with pytest.raises(UsageError, match=r"no part of the battery likely costs less than that$"):
        sizes(1.9 * cost)
    with pytest.raises(UsageError, match=rf"likely costs {12 * cost:.2f} USD: say with --budget-usd"):
        sizes(None)


def test_a_battery_needs_prices_and_studies_that_can_be_read(tmp_path: Path) -> None:
    parts = parts_in(tmp_path)
    with pytest.raises(UsageError, match=r"^no price is known for openai/gpt-other: give one with --prices FILE"):
        battery.with_sizes(parts, [["openai/gpt-other"]], tmp_path, None, PlayOptions(prices=PRICES))
    free = {"openai/gpt-test": {"input": 0, "output": 0}}
    found = battery.with_sizes(parts, [["openai/gpt-test"]], tmp_path, None, PlayOptions(prices=free))
    assert [one.seeds for one in found] == [one.part.most for one in found], "what costs nothing needs no budget"
    lost = parts[0].model_copy(update={"set": ["no_such_key=1"]})
    with pytest.raises(OstromError, match="no_such_key"):
        battery.with_sizes([lost], [["openai/gpt-test"]], tmp_path, None, PlayOptions(prices=PRICES))


def test_sizes_of_a_preset_and_the_studies_that_a_battery_may_name(tmp_path: Path) -> None:
    part = StudyPart(name="p", title="P", study="own.yaml", most=3, presets={"large": Sized(least=4, most=9)})
    assert [part.for_preset(name).most for name in (None, "large", "other")] == [3, 9, 3]
    assert part.source(tmp_path) == str(tmp_path / "own.yaml")
    assert part.model_copy(update={"study": "memory_curse"}).source(tmp_path) == "memory_curse"
    with pytest.raises(UsageError, match=r"a file beside the battery \(found '\.\./own.yaml'\)"):
        part.model_copy(update={"study": "../own.yaml"}).source(tmp_path)
    assert Sized(least=3, most=3).most == 3
    with pytest.raises(ValueError, match="least must not be more than most \\(found 4 and 3\\)"):
        Sized(least=4, most=3)


def test_seeds_that_were_begun_are_never_fewer_and_a_folder_keeps_its_battery(tmp_path: Path) -> None:
    record, settings = tmp_path / "out" / "battery.json", {"battery": "b", "preset": None}
    assert recorded_seeds(record, settings, {"p": 3, "q": 2}) == {"p": 3, "q": 2}
    assert recorded_seeds(record, settings, {"p": 1, "q": 5, "r": 1}) == {"p": 3, "q": 5, "r": 1}
    with pytest.raises(RunError, match="was begun with another battery or preset"):
        recorded_seeds(record, {**settings, "preset": "large"}, {"p": 1})
    record.write_text("[]")
    with pytest.raises(RunError, match="was begun with another"):
        recorded_seeds(record, settings, {"p": 1})
    record.write_text("{")
    with pytest.raises(RunError, match="cannot be read"):
        recorded_seeds(record, settings, {"p": 1})
