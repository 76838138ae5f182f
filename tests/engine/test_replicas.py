"""A model behind several servers: a match stays with one, and goes on at another when that fails."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import ostrom
from ostrom.ground.errors import StudyError, UsageError
from ostrom.models import Message, Request, check_model, open_model
from ostrom.models.providers.openai import ReplicatedModel
from ostrom.studies.load import with_addresses
from ostrom.testing.faults import Faults
from ostrom.testing.server import LoopbackServer


def study(*urls: str, seeds: int = 4) -> dict[str, Any]:
    return {
        "name": "replicas",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 3},
        "models": {"small": {"replicas": [f"{url}#m" for url in urls], "params": {"max_tokens": 50}}},
        "types": {"a": {"model": "small"}},
        "seeds": seeds,
    }


def test_every_match_stays_with_its_server(tmp_path: Path) -> None:
    with LoopbackServer(lambda _: "one [A0]\n[A0]") as one, LoopbackServer(lambda _: "two [A0]\n[A0]") as two:
        run = ostrom.play(study(one.url, two.url), runs=tmp_path, progress=False)
        assert run.matches["state"].to_list() == ["done"] * len(run.matches)
        assert one.count == two.count == len(run.calls) // 2, "the matches are shared out evenly"
        places = {(match, reply[:3]) for match, reply in run.calls.select("match", "reply").iter_rows()}
        assert len(places) == len({match for match, _ in places}) == 4
        assert run.calls["model"].unique().to_list() == [f"{one.url}#m"]
        (facts,) = json.loads((tmp_path / "replicas" / "run.json").read_text())["models"].values()
        assert facts["client"]["replicas"] == [one.url, two.url] and facts["base_url"] == one.url


def test_a_match_goes_on_at_the_next_server_when_its_own_fails(tmp_path: Path) -> None:
    with LoopbackServer(faults=Faults({"server_error": 1.0})) as broken, LoopbackServer() as well:
        run = ostrom.play(study(broken.url, well.url, seeds=2), runs=tmp_path, progress=False)
    assert run.matches["state"].to_list() == ["done"] * len(run.matches)
    assert broken.count and well.count == len(run.decisions)
    tries = run.calls["try"].to_list()
    assert max(tries) == 2, "the second try goes to the other server"


def test_calls_of_no_match_go_to_the_servers_in_turn_and_all_are_closed() -> None:
    async def main(one: str, two: str) -> None:
        model = open_model(f"{one}#m", replicas=[two])
        assert isinstance(model, ReplicatedModel)
        for _ in range(4):
            await model.complete(Request((Message("user", "Valid answers: [A0] or [A1]."),)))
        closed: list[str] = []
        for replica in model.replicas:
            replica.close = partial(_closed, replica.close, closed, replica.describe()["base_url"])  # type: ignore[method-assign]
        await model.close()
        assert closed == [one, two]

    with LoopbackServer() as one, LoopbackServer() as two:
        asyncio.run(main(one.url, two.url))
        assert one.count == two.count == 2


async def _closed(close: Callable[[], Awaitable[None]], closed: list[str], address: str) -> None:
    await close()
    closed.append(address)


def test_what_replicas_may_be() -> None:
    def read(entry: Any) -> dict[str, Any]:
        found: dict[str, Any] = with_addresses({"models": {"small": entry}}, "s.yaml")["models"]["small"]
        return found

    assert read({"replicas": ["http://a/v1#m", "http://b/v1"], "settings": {"timeout": 3}}) == {
        "model": "http://a/v1#m",
        "settings": {"timeout": 3, "replicas": ["http://a/v1", "http://b/v1"]},
    }
    assert read({"model": "vllm/m", "replicas": ["http://a/v1"]})["model"] == "vllm/m"
    for wrong in ("http://a/v1#m", [], [3]):
        with pytest.raises(StudyError, match=r"s.yaml: models.small.replicas: must be a list of addresses"):
            read({"replicas": wrong})
    for urls in (["http://a/v1#m", "http://b/v1#n"], ["http://a/v1"]):
        with pytest.raises(StudyError, match="must name one model"):
            read({"replicas": urls})


@pytest.mark.parametrize("wrong", ["http://a/v1", [], ["http://a/v1", "http://a/v1"], ["ftp://a"], ["http://u:p@a/v1"]])
def test_addresses_that_are_none(wrong: Any) -> None:
    with pytest.raises(UsageError, match="replicas"):
        check_model("http://a/v1#m", {"replicas": wrong})


def test_a_key_goes_to_no_replica_that_was_not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTROM_API_KEY", "k")
    monkeypatch.setenv("LAB_KEY", "k")
    with pytest.raises(UsageError, match=r"OSTROM_API_KEY would be sent to http://elsewhere.example.org"):
        open_model("http://127.0.0.1:1/v1#m", replicas=["http://elsewhere.example.org/v1"])
    ostrom.models.allow_key("LAB_KEY", "http://127.0.0.1:1")
    with pytest.raises(UsageError, match=r"LAB_KEY would be sent to http://elsewhere.example.org"):
        check_model(
            "http://127.0.0.1:1/v1#m", {"replicas": ["http://elsewhere.example.org/v1"], "key_variable": "LAB_KEY"}
        )
    two = open_model("openai/m", replicas=["http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"], connections=3)
    assert two.connections == 6 and two.describe()["base_url"] == "http://127.0.0.1:1/v1"
