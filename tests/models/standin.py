"""A program that can stand in for vLLM, `transformers serve` or llama-server: a real process that fails on demand.

It takes their argument lists, answers like the loopback server, and reads from the model's file how it is to behave:
a JSON list with one mapping for every start, of which the last holds for all later ones.

====================  ======================================================================
``delay``             seconds before it listens
``exit``              end with this status instead of listening
``dies_after``        end by SIGKILL when so many calls have been answered
``hangs_after``       answer nothing more, not even whether it is well, after so many calls
``stops_after``       the same by SIGSTOP: such a process takes no notice of SIGTERM
``child``             start a process of its own that would go on for an hour
====================  ======================================================================

Beside the file it keeps ``starts``: process number, arguments and names of keys of every start, a line each.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any

if __name__ == "__main__" and (package := find_spec("ostrom.testing")) is not None:
    # The package's checks load all of Ostrom, which takes a second; its server needs none of it.
    sys.modules["ostrom.testing"] = module_from_spec(package)
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.models.caching_server import CachingServer

from ostrom.testing.replies import answer


def behaviour(file: Path, arguments: list[str]) -> dict[str, Any]:
    """How to behave at this start, which is written down."""
    record = file.with_name("starts")
    with record.open("a+", encoding="utf-8") as lines:
        lines.seek(0)
        earlier = len(lines.readlines())
        keys = [name for name in os.environ if name.endswith("_API_KEY")]
        lines.write(json.dumps({"pid": os.getpid(), "arguments": arguments, "keys": keys}) + "\n")
    starts = json.loads(file.read_text(encoding="utf-8"))
    starts = starts if isinstance(starts, list) else starts["standin"]
    chosen: dict[str, Any] = starts[min(earlier, len(starts) - 1)]
    return chosen


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    for option in ("--model", "--host", "--port"):
        parser.add_argument(option)
    arguments, _ = parser.parse_known_args()
    path = Path(arguments.model or arguments.words[1])
    file = (path / "config.json" if path.is_dir() else path).resolve()
    plan = behaviour(file, sys.argv[1:])
    if plan.get("child"):
        child = subprocess.Popen(["sleep", "3600"])
        file.with_name("child").write_text(str(child.pid), encoding="utf-8")
    time.sleep(plan.get("delay", 0.0))
    if "exit" in plan:
        print("cannot load the model", flush=True)
        sys.exit(plan["exit"])
    assert arguments.host == "127.0.0.1", "a server of Ostrom is reached from this machine alone"

    def respond(body: dict[str, Any]) -> str:
        if server.count > plan.get("dies_after", server.count):
            os.kill(os.getpid(), signal.SIGKILL)
        if server.count > plan.get("stops_after", server.count):
            os.kill(os.getpid(), signal.SIGSTOP)
        if server.count > plan.get("hangs_after", server.count):
            signal.pause()
        return answer(body)

    async def serve() -> None:
        listening = await server.listen()
        await listening.serve_forever()

    server = CachingServer(respond, record=False, port=int(arguments.port))
    asyncio.run(serve())


if __name__ == "__main__":
    main()
