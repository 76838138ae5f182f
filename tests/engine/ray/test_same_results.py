"""A cluster plays what one process plays: the same tables, within the same limits and the same budget."""

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.in_process import caller
from tests.engine.ray.machines import Machines, asked, study
from tests.run_tables import tables

from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import RunError, UsageError
from ostrom.studies.run import play
from ostrom.testing.faults import Faults
from ostrom.testing.replies import answer, prompt_of
from ostrom.testing.server import LoopbackServer

pytestmark = pytest.mark.filterwarnings("default")


def mumbling(body: dict[str, Any]) -> str:
    """Every fifth answer cannot be read."""
    return "Hm." if zlib.crc32(prompt_of(body).encode()) % 5 == 0 else answer(body)


STUDIES: dict[str, dict[str, Any]] = {
    "repeated, some answers by policy": {"invalid": {"retries": 1, "policy": "uniform"}},
    "some matches fail, some are skipped": {"invalid": {"retries": 0, "policy": "fail"}, "seeds": 3},
    "matches that need designs first": {
        "mechanism": "mediation",
        "agent": {"style": "direct"},
        "types": {"model": None, "other": None},
        "invalid": {"retries": 1, "policy": "skip-match"},
    },
}


@pytest.mark.parametrize("name", list(STUDIES))
def test_tables_are_the_same_bytes_as_those_of_one_process(
    name: str, on_ray: Callable[..., PlayOptions], tmp_path: Path
) -> None:
    faults = Faults({"rate_limit": 0.05, "server_error": 0.05}, retry_after="0")
    with LoopbackServer(mumbling, faults=faults) as server:
        changes = dict(STUDIES[name])
        if "types" in changes:
            changes["types"] = {who: {"model": server.model} for who in changes["types"]}
        declared = study(server.model, **changes)
        spread = play(declared, name="run", runs=tmp_path / "ray", options=on_ray())
        server._seen.clear()  # the same faults again: they depend on how often a request has come
        alone = play(declared, name="run", runs=tmp_path / "local", options=PlayOptions(retry=on_ray().retry))
    assert tables(tmp_path / "ray/run", tmp_path / "a") == tables(tmp_path / "local/run", tmp_path / "b")
    assert sorted(asked(tmp_path / "ray/run")) == sorted(asked(tmp_path / "local/run"))
    for number in ("done", "skipped", "failed", "calls", "tokens_in", "tokens_out", "invalid", "policies"):
        assert getattr(spread.tally, number) == getattr(alone.tally, number), number
    assert spread.tally.calls and spread.tally.invalid


def test_scripted_matches_stay_with_the_driver_and_give_the_same_tables(
    on_ray: Callable[..., PlayOptions], tmp_path: Path
) -> None:
    declared = study("", types={"tft": "tit_for_tat", "chance": "random:0.5"})
    play(declared, name="run", runs=tmp_path / "ray", options=on_ray())
    play(declared, name="run", runs=tmp_path / "local")
    assert tables(tmp_path / "ray/run", tmp_path / "a") == tables(tmp_path / "local/run", tmp_path / "b")


def test_the_limit_of_connections_holds_for_the_cluster_as_a_whole(
    on_ray: Callable[..., PlayOptions], tmp_path: Path
) -> None:
    with LoopbackServer(latency=0.03) as server:
        result = play(study(server.model), runs=tmp_path, options=on_ray(max_connections=3))
        assert result.complete
        assert server.max_in_flight == 3


def test_a_budget_is_never_exceeded_and_one_process_goes_on_where_the_cluster_stopped(
    on_ray: Callable[..., PlayOptions], tmp_path: Path
) -> None:
    with LoopbackServer(latency=0.01) as server:
        whole = study(server.model)
        play(whole, name="run", runs=tmp_path / "calm")
        needed, server.count = server.count, 0
        short = play(study(server.model, budget={"calls": 37}), name="run", runs=tmp_path / "cut", options=on_ray())
        assert not short.complete and "37 calls" in str(short.why)
        assert server.count == short.tally.calls == len(asked(tmp_path / "cut/run")) == 37
        assert play(whole, name="run", runs=tmp_path / "cut").complete
        assert server.count == needed
    assert tables(tmp_path / "cut/run", tmp_path / "a") == tables(tmp_path / "calm/run", tmp_path / "b")


def test_replies_of_other_runs_are_shared_through_the_drivers_cache(
    on_ray: Callable[..., PlayOptions], tmp_path: Path
) -> None:
    cache = tmp_path / "cache.db"
    with LoopbackServer() as server:
        play(study(server.model), name="run", runs=tmp_path / "one", options=on_ray(cache=cache))
        asked_before = server.count
        again = play(study(server.model), name="run", runs=tmp_path / "two", options=on_ray(cache=cache))
        assert server.count == asked_before == again.tally.cached


def test_prompts_of_the_users_own_reach_the_workers(on_ray: Callable[..., PlayOptions], tmp_path: Path) -> None:
    prompts = tmp_path / "prompts" / "stories"
    prompts.mkdir(parents=True)
    (prompts / "harbour.txt").write_text("Two boats share a harbour.\n")
    with LoopbackServer() as server:
        told = study(server.model, seeds=1, agent={"style": "direct", "framing": {"story": "harbour"}})
        play(told, runs=tmp_path, prompts=tmp_path / "prompts", options=on_ray())
        assert server.requests and all(b"share a harbour" in r.body for r in server.requests)


def test_workers_that_reach_a_model_in_different_ways_are_refused_before_anything_is_written(
    on_ray: Callable[..., PlayOptions], tmp_path: Path
) -> None:
    with pytest.raises(RunError, match="two workers reach it in different ways"):
        play(study("openai/gpt-4o-mini"), runs=tmp_path, options=on_ray())
    assert not list(tmp_path.iterdir())


def test_a_model_that_does_not_exist_leaves_no_trace(on_ray: Callable[..., PlayOptions], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nobody"):
        play(study("nobody/knows"), runs=tmp_path, options=on_ray())
    assert not list(tmp_path.iterdir())


def test_a_process_is_connected_to_one_cluster_at_a_time(machines: Machines, tmp_path: Path) -> None:
    elsewhere = PlayOptions(executor="ray", ray_address="127.0.0.1:1")
    with pytest.raises(UsageError, match=f"connected to the cluster at {machines.address}"):
        play(study("http://127.0.0.1:1/v1#x"), runs=tmp_path, options=elsewhere)


def test_cached_replies_that_are_older_than_the_registration_are_asked_for_anew(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = caller(monkeypatch, tmp_path)
    spread = ("--executor", "ray", "--workers", "2", "--cache", "cache.db", "--json")
    with LoopbackServer() as server:
        declared = study(server.model, seeds=2).model_dump(mode="json", exclude_unset=True)
        (tmp_path / "s.yaml").write_text(yaml.safe_dump(declared))
        with monkeypatch.context() as patch:
            patch.setattr("ostrom.engine.caller.time.time", lambda: 1_000_000.0)
            assert call("run", "s.yaml", "--name", "old", "--cache", "cache.db").code == 0
        needed, server.count = server.count, 0
        primary = ("--primary", "cooperation: agent tft - chance > 0")
        made = call("register", "s.yaml", *primary, "--out", "r.yaml")
        assert made.code == 0, made.err
        bound = call("run", "s.yaml", "--registered", "r.yaml", *spread)
        assert bound.code == 0, bound.err
        assert server.count == needed == json.loads(bound.out)["calls"]
        # What arrived since the registration is taken, and told.
        again = call("run", "s.yaml", "--registered", "r.yaml", "--name", "again", *spread)
        assert again.code == 0 and server.count == needed, again.err
    told = json.loads(call("register", "--check", "r.yaml", "again", "--json").out)
    assert [one["kind"] for one in told["registered"][0]["deviations"]] == ["cache"]
