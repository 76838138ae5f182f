"""The cache of replies: everything that decides a reply is in its key, and only whole replies are kept."""

import asyncio
from pathlib import Path
from typing import Any, get_args

import pytest

from ostrom.engine.caller import Cache, call_key, model_key_part, prompt_of
from ostrom.ground.errors import RunError
from ostrom.models.base import Constraint, Finish, Message, Reply, Request, ToolSpec, Usage

PLACE = (1, 2, 3, 4, "plan")
MODEL = {"name": "m", "base_url": "http://a/v1", "client": {"timeout": 60}}
REQUEST = Request((Message("system", "s"), Message("user", "u")), {"temperature": 0.5, "seed": 7})


def key(
    model: dict[str, Any] = MODEL, request: Request = REQUEST, place: tuple[int, int, int, int, str] = PLACE
) -> bytes:
    return call_key(model_key_part(model), prompt_of(request), request, place)


def changed(**changes: Any) -> Request:
    parts = {name: getattr(REQUEST, name) for name in ("messages", "params", "constraint", "top_logprobs")}
    return Request(**{**parts, **changes})


def test_keys_are_those_of_earlier_versions() -> None:
    plain = Request((Message("user", "ü"),))
    tool = ToolSpec("t", "d", {"type": "object"})
    bound = Request((Message("user", "u"),), {}, Constraint(("a",), {"type": "object"}), 5, tools=(tool,))
    assert key().hex() == "84a8942b89ce63812fedadcabff65702"
    assert key(request=plain, place=(0, 2**64 - 1, 3, 1, 'q"ü')).hex() == "2e49f6f3fdd4803df95b861efe37f713"
    assert key(request=bound, place=(1, 2, 3, 4, "")).hex() == "59345dfdde2d34c137389f32a97b6826"


@pytest.mark.parametrize(
    "request_",
    [
        changed(messages=(Message("system", "s"), Message("user", "v"))),
        changed(messages=(Message("user", "s"), Message("user", "u"))),
        changed(messages=(Message("user", "u"), Message("system", "s"))),
        changed(messages=(Message("user", "u"),)),
        changed(params={"temperature": 0.5, "seed": 8}),
        changed(params={"temperature": 0.5}),
        changed(params={"temperature": 0.5, "seed": 7, "max_tokens": 5}),
        changed(constraint=Constraint(choices=("a", "b"))),
        changed(constraint=Constraint(schema={"type": "object"})),
        changed(top_logprobs=5),
    ],
)
def test_every_part_of_a_request_is_in_the_key(request_: Request) -> None:
    assert key(request=request_) != key()


def test_all_that_binds_a_reply_is_in_the_key() -> None:
    bounds = [
        Constraint(choices=("a", "b")), Constraint(choices=("b", "a")), Constraint(choices=("a",)),
        Constraint(schema={"type": "object"}), Constraint(schema={"type": "array"}),
        Constraint(choices=("a",), schema={"type": "object"}), None,
    ]  # fmt: skip
    assert len({key(request=changed(constraint=bound)) for bound in bounds}) == len(bounds)


@pytest.mark.parametrize("at", range(5))
def test_every_part_of_the_place_is_in_the_key(at: int) -> None:
    parts: list[Any] = list(PLACE)
    parts[at] = "other" if at == 4 else parts[at] + 10
    seed, match, step, player, part = parts
    assert key(place=(seed, match, step, player, part)) != key()


def test_parts_of_the_place_cannot_be_mistaken_for_each_other() -> None:
    assert key(place=(1, 23, 4, 5, "")) != key(place=(12, 3, 4, 5, "")) != key(place=(1, 2, 34, 5, ""))


def test_what_describes_a_model_is_in_the_key_and_how_it_is_reached_is_not() -> None:
    assert key({**MODEL, "base_url": "http://b/v1"}) != key()
    assert key({**MODEL, "name": "n"}) != key()
    assert key({**MODEL, "client": {"timeout": 5}}) == key()
    assert key({"client": {}, "base_url": "http://a/v1", "name": "m"}) == key()  # the order says nothing
    assert key(request=changed(params={"seed": 7, "temperature": 0.5})) == key()


def test_a_key_does_not_change_from_version_to_version() -> None:
    """Caches are shared by runs of years: a key that changes throws them away. Change this on purpose only."""
    assert key().hex() == "84a8942b89ce63812fedadcabff65702"


WHOLE = Reply("text", "because", "raw", "stop", Usage(1, 2, 3, 4), {"A": -0.5}, "m-2026")


def kept(tmp_path: Path, reply: Reply) -> Reply | None:
    async def main() -> Reply | None:
        cache = Cache(tmp_path / "deep" / "cache.db")
        cache.put(b"k", reply)
        cache.close()
        again = Cache(tmp_path / "deep" / "cache.db")
        assert await again.get(b"other") is None
        found = await again.get(b"k")
        again.close()
        return found

    return asyncio.run(main())


def test_a_whole_reply_comes_back_as_it_was(tmp_path: Path) -> None:
    assert kept(tmp_path, WHOLE) == WHOLE
    assert kept(tmp_path / "b", Reply("x")) == Reply("x")


@pytest.mark.parametrize("finish", [f for f in get_args(Finish) if f not in ("stop", "tools")])
def test_a_reply_that_was_cut_or_filtered_is_not_kept(tmp_path: Path, finish: Finish) -> None:
    assert kept(tmp_path, Reply("tex", finish=finish)) is None


def test_the_first_reply_under_a_key_stays(tmp_path: Path) -> None:
    kept(tmp_path, WHOLE)
    assert kept(tmp_path, Reply("another")) == WHOLE


def test_a_cache_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "deep").write_text("a file")
    with pytest.raises(RunError, match="the cache cannot be opened"):
        Cache(tmp_path / "deep" / "cache.db")


def test_a_reply_that_is_older_than_asked_for_is_not_given_and_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a run that is bound to a registration takes no answer that was there before it."""
    for at, text in ((100.0, "old"), (200.0, "new")):
        monkeypatch.setattr("ostrom.engine.caller.time.time", lambda at=at: at)
        cache = Cache(tmp_path / "cache.db", since=150.0)
        cache.put(b"k", Reply(text))
        assert (asyncio.run(cache.get(b"k")) is None) == (at < 150)
        cache.close()
    free = Cache(tmp_path / "cache.db")
    reply = asyncio.run(free.get(b"k"))
    assert reply is not None and reply.text == "new"
    free._db.execute("UPDATE replies SET reply = json_remove(reply, '$.at')")
    assert asyncio.run(free.get(b"k")) is not None
    free.since = 1.0  # replies of earlier versions have no time
    assert asyncio.run(free.get(b"k")) is None
    free.close()
