"""Play a study through PettingZoo, check it with the tests of that package, and print the rewards."""

import contextlib
import io
import json
import sys
import warnings

from pettingzoo.test import api_test

from ostrom.features.environments import environment
from ostrom.features.environments.integrations.pettingzoo import StudyAEC
from ostrom.testing.replies import answer

STUDY, RUNS = sys.argv[1:]

rewards = []
with environment(STUDY, name="outside", runs=RUNS) as kept:
    env = StudyAEC(kept)
    for match in kept.matches:
        env.reset(options={"match": match})
        for agent in env.agent_iter():
            _, reward, termination, truncation, info = env.last()
            if termination or truncation:
                rewards.append([match, int(agent.removeprefix("player_")), reward])
                env.step(None)
            else:
                env.step(answer({"messages": info["messages"]}))
with environment(STUDY) as free, contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
    warnings.simplefilter("ignore")
    api_test(StudyAEC(free), num_cycles=60)
print(json.dumps({"rewards": rewards, "conforms": True}))
