"""A refusal is an outcome with a declared policy, and one model that cannot be used does not stop the others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import AccessRefused, ContentRefused, ContextExceeded, RequestRefused
from ostrom.models.failures import from_status
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile
from ostrom.testing.replies import answer, openai_document
from ostrom.testing.server import LoopbackServer

Small = Callable[..., StudyFile]

FILTERED = (400, {"error": {"code": "content_filter", "message": "The response was filtered"}})
WAYS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "status 400": lambda _: FILTERED,
    "finish_reason": lambda body: openai_document(body, "", "content_filter"),
    "refusal field": lambda body: _refusal_field(body),
}


def _refusal_field(body: dict[str, Any]) -> dict[str, Any]:
    document = openai_document(body, "")
    document["choices"][0]["message"] |= {"content": None, "refusal": "I cannot play this."}
    return document


def refusing(way: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """A server that refuses whatever is asked in the third round."""
    return lambda body: way(body) if "ound 3" in str(body["messages"][0]["content"]) else answer(body)


def against(server: LoopbackServer, **more: Any) -> dict[str, Any]:
    return {
        "agent": {"style": "direct"},
        "types": {"model": {"model": server.model}, "tft": "tit_for_tat"},
        "seating": "ordered",
        "vary": {"rounds": {"set": "mechanism.rounds", "to": [2, 4]}},
        "seeds": 1,
        **more,
    }


def states(folder: Path) -> dict[int, str]:
    with open_run(folder) as run:
        return run.journal.states()


@pytest.mark.sample(5)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", ["fail", "skip-match", "default:defect"])
def test_what_is_refused_follows_the_policy_and_the_rest_is_played(
    small: Small, runs: Path, quick: PlayOptions, way: str, policy: str
) -> None:
    with LoopbackServer(refusing(WAYS[way])) as server:
        study = small(**against(server, refused=policy))
        result = play(study, runs=runs, options=quick)
        asked = server.count
        again = play(study, runs=runs, options=quick)
        assert server.count == asked, "a refusal was asked for again"
    found = list(states(runs / "small").values())
    with open_run(runs / "small") as run:
        decisions, matches = list(run.rows.decisions()), list(run.rows.matches())
    refusals = sum(row["refusals"] for row in matches)
    assert refusals == result.tally.refused == again.tally.refused > 0
    refused = [row for row in decisions if row["reading"] == "refused"]
    if policy == "default:defect":
        assert result.complete and again.complete and set(found) == {"done"}
        assert len(refused) == refusals and all(r["action"] == "defect" and r["invalid"] for r in refused)
        return
    assert not refused
    state = "failed" if policy == "fail" else "skipped"
    # Matches of four rounds with a model: model-model, model-tft, tft-model. All others are played to their end.
    assert sorted(found) == sorted(["done"] * 5 + [state] * 3)
    assert result.complete == again.complete == (policy == "skip-match")
    lost = [row for row in matches if row["state"] == state]
    assert all(row["reason"].startswith("refused: ") and row["score"] is None for row in lost)


def test_a_policy_may_be_decided_after_matches_failed(small: Small, runs: Path, quick: PlayOptions) -> None:
    with LoopbackServer(refusing(WAYS["status 400"])) as server:
        assert not play(small(**against(server)), runs=runs, options=quick).complete
        asked = server.count
        done = play(small(**against(server, refused="skip-match")), runs=runs, options=quick)
        assert done.complete and done.tally.skipped == 3 and server.count == asked


def test_an_unknown_policy_is_refused_with_those_that_exist(small: Small) -> None:
    from ostrom.ground.errors import StudyError

    with pytest.raises(
        StudyError, match=r"refused: there is no such policy, did you mean 'skip-match'.*allowed: fail, skip-match"
    ):
        small(refused="skip_match")


NOT_FOUND = (404, {"error": {"message": "The model `ghost` does not exist", "code": "model_not_found"}})
NO_KEY = (401, {"error": {"message": "bad key"}})
NO_PARAMETER = (400, {"error": {"message": "Unsupported value", "code": "unsupported_value", "param": "top_p"}})


@pytest.mark.slow
@pytest.mark.parametrize("failure", [NOT_FOUND, NO_KEY, NO_PARAMETER])
def test_one_model_that_cannot_be_used_does_not_stop_the_others(
    small: Small, runs: Path, quick: PlayOptions, failure: Any
) -> None:
    ghosts = True

    def respond(body: dict[str, Any]) -> Any:
        return failure if body["model"] == "ghost" and ghosts else answer(body)

    with LoopbackServer(respond) as server:
        base = server.model.partition("#")[0]
        types = {"good": {"model": server.model}, "ghost": {"model": f"{base}#ghost"}, "tft": "tit_for_tat"}
        study = small(agent={"style": "direct"}, types=types, vary={}, seeds=2)
        result = play(study, runs=runs, options=quick)
        found = states(runs / "small")
        assert not result.complete and result.tally.done == 8 and result.tally.failed == 10
        assert result.why is not None and "10 matches of" in result.why and "ghost" in result.why
        assert sum(body["model"] == "ghost" for body in server.bodies()) <= 2 * 10
        with open_run(runs / "small") as run:
            lost = [row for row in run.rows.matches() if row["state"] == "failed"]
        assert all("ghost" in row["agent"] + row["opponents"] and row["reason"] for row in lost)
        ghosts, before = False, server.count
        again = play(study, runs=runs, options=quick)
        assert again.complete and again.tally.done == 18
        with open_run(runs / "small") as run:
            latest = sorted(run.rows.calls(), key=lambda row: row["id"])[before:]
    retried = {index for index, state in found.items() if state == "failed"}
    assert {row["match"] for row in latest} == retried, "only what failed is played again"


def test_without_any_usable_model_scripts_are_played_and_the_reason_is_told(
    small: Small, runs: Path, quick: PlayOptions
) -> None:
    with LoopbackServer(lambda _: NOT_FOUND) as server:
        result = play(small(**against(server)), runs=runs, options=quick)
        assert result.tally.done == 2 and "does not exist" in str(result.why)
        with pytest.raises(RequestRefused, match="does not exist"):
            play(small(**against(server, seating="self", types={"model": {"model": server.model}})),
                 name="alone", runs=runs, options=quick)  # fmt: skip


def test_a_dead_server_beside_a_good_one(small: Small, runs: Path, quick: PlayOptions) -> None:
    with LoopbackServer() as server:
        types = {"good": {"model": server.model}, "dead": {"model": "http://127.0.0.1:9/v1#m"}}
        study = small(agent={"style": "direct"}, types=types, vary={}, seeds=3, seating="self")
        result = play(study, runs=runs, options=quick)
    assert result.tally.done == 3 and result.tally.failed == 3 and "127.0.0.1:9" in str(result.why)


CASES = [
    (400, {"code": "content_filter", "message": "x"}, ContentRefused),
    (400, {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}, ContentRefused),
    (400, {"code": "invalid_prompt", "message": "flagged as potentially violating our usage policy"}, ContentRefused),
    (403, {"code": 403, "message": "Your input was flagged by moderation"}, ContentRefused),
    (400, {"message": "Content Exists Risk"}, ContentRefused),
    (400, {"code": "context_length_exceeded", "message": "maximum context length is 8192"}, ContextExceeded),
    (400, {"type": "invalid_request_error", "message": "prompt is too long: 250000 tokens"}, ContextExceeded),
    (400, {"type": "exceed_context_size_error", "message": "x"}, ContextExceeded),
    (413, {"type": "request_too_large", "message": "x"}, ContextExceeded),
    (400, {"code": "unknown_parameter", "message": "Unknown parameter: 'moderation'"}, RequestRefused),
    (400, {"message": "temperature must be at most 1"}, RequestRefused),
    (401, {"message": "bad key"}, AccessRefused),
    (403, {"message": "no access to this model"}, AccessRefused),
    (404, {"message": "no such model"}, RequestRefused),
]


@pytest.mark.parametrize(("status", "error", "kind"), CASES)
def test_refusals_are_told_apart(status: int, error: dict[str, Any], kind: type) -> None:
    import orjson

    made = from_status(status, {}, orjson.dumps({"error": error}), who="m")
    assert type(made) is kind and not made.retryable


def test_a_prompt_that_is_too_long_ends_its_match_and_not_the_model(
    small: Small, runs: Path, quick: PlayOptions
) -> None:
    too_long = (400, {"error": {"code": "context_length_exceeded", "message": "too long"}})
    with LoopbackServer(refusing(lambda _: too_long)) as server:
        result = play(small(**against(server)), runs=runs, options=quick)
    assert result.tally.done == 5 and result.tally.failed == 3 and result.tally.refused == 0
    assert any("ContextExceeded" in line for line in result.tally.failures)
