"""Serve a study with `ostrom more openenv`, play it with clients of OpenEnv, and print what they got."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openenv.core.generic_client import GenericEnvClient

from ostrom.testing.replies import answer

STUDY, RUNS, *MODE = sys.argv[1:]


@contextmanager
def served(*options: str, password: str | None = None) -> Iterator[str]:
    """The address of a server."""
    command = [str(Path(sys.executable).with_name("ostrom")), "more", "openenv", STUDY, "--port", "0", *options]
    more = {} if password is None else {"OSTROM_ENVIRONMENT_PASSWORD": password}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **more}) as server:
        try:
            assert server.stderr is not None
            yield server.stderr.readline().split()[-1]
        finally:
            server.terminate()


def play() -> dict[str, object]:
    rewards = []
    with served("--name", "outside", "--runs", RUNS) as url:
        asked = urllib.request.Request(
            f"{url}/duel/tasks", b'{"split": "matches"}', {"Content-Type": "application/json"}
        )
        tasks = json.loads(urllib.request.urlopen(asked).read())["tasks"]
        with GenericEnvClient(base_url=url).sync() as client:
            for index in range(20):
                result = client.reset(index=index)
                while not result.done:
                    text = answer({"messages": result.observation["messages"]})
                    result = client.step({"text": text})
                got = result.observation["rewards"]
                assert result.reward == sum(got.values()) / 2
                rewards += [[result.observation["match"], int(player), score] for player, score in got.items()]
    return {"rewards": rewards, "tasks": len(tasks), "first": tasks[0]}


def status(url: str, path: str = "/health", **headers: str) -> int:
    try:
        request = urllib.request.Request(url + path, headers=headers)
        return int(urllib.request.urlopen(request).status)
    except urllib.error.HTTPError as error:
        return error.code


def reached(url: str, **headers: str) -> str:
    """Whether a client gets a question."""
    try:
        with GenericEnvClient(base_url=url, headers=headers).sync() as client:
            return "asked" if client.reset().observation["messages"] else "nothing"
    except ConnectionError:
        return "refused"


def strangers() -> dict[str, object]:
    told: dict[str, object] = {}
    with served("--sessions", "2") as url:
        with GenericEnvClient(base_url=url).sync() as one, GenericEnvClient(base_url=url).sync() as other:
            one.reset(index=3)
            before = [1, other.state().get("match")]
            one.step({"text": "[A0]"})
            other.reset(index=5)
            assert (one.state()["match"], other.state()["match"]) == (3, 5)
            told["asked"] = [before, [other.state()["step_count"], one.state()["step_count"]]]
            try:
                with GenericEnvClient(base_url=url).sync() as third:
                    third.reset()
                    told["third"] = "played"
            except Exception as error:
                told["third"] = str(error)
            told["page"] = status(url, Origin="https://example.org")
            told["other_host"] = status(url, Host="example.org")
            told["reset"] = status(url, "/reset")
        told["socket"] = reached(url, Origin="https://example.org")
    with served(password="twelve letters") as url:
        told["unguarded"] = reached(url)
        told["with_password"] = reached(url, Authorization="Bearer twelve letters")
    return told


print(json.dumps(strangers() if MODE else play()))
