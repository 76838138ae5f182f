"""Play every task of a study in verifiers against a server of the OpenAI wire, and print the rewards."""

import asyncio
import json
import sys

import verifiers.v1 as vf
from verifiers.v1.utils.loaders import load_environment, resolve_env_config

STUDY, RUNS, SERVER = sys.argv[1:]


async def main() -> None:
    taskset = {"id": "ostrom-verifiers", "study": STUDY, "models": [], "run": "outside", "runs": RUNS}
    env = load_environment(resolve_env_config({"taskset": taskset}))
    model = vf.ModelContext(
        model="policy", client=vf.EvalClientConfig(base_url=SERVER, api_key_var="NONE"), sampling=vf.SamplingConfig()
    )
    async with env.serving():
        slots = [slot for task in env.taskset for slot in env.slots(task)]
        episodes = await asyncio.gather(*(env.run_slot(slot, model) for slot in slots))
    rewards = {
        (episode.task.data.match, int(trace.agent.name.removeprefix("player")), trace.reward)
        for episode in episodes
        for trace in episode.traces
    }
    told = {
        "ok": sum(episode.ok for episode in episodes),
        "errors": [str(error) for episode in episodes for error in episode.errors],
        "traces": sum(len(episode.traces) for episode in episodes),
        "rewards": sorted(rewards),
    }
    print(json.dumps(told))


asyncio.run(main())
