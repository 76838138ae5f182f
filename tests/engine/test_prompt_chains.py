"""A dialogue is journaled as what is new in every prompt, and every prompt is read back as it was sent."""

import random
from pathlib import Path
from typing import Any

import orjson
import pytest

from ostrom.engine.entries import PromptChains, resolve_prompt
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.view.calls import prompt_of

RULES = "word " * 400


def test_prompts_are_read_back_as_they_were_sent_whatever_they_go_on_from() -> None:
    rng = random.Random(3)
    chains, packages, sent = PromptChains(), dict[int, list[Any]](), dict[tuple[int, int], list[list[str]]]()
    chats: dict[int, list[list[str]]] = {0: [["user", RULES]], 1: [["user", RULES]]}
    for package in range(1, 60):
        packages[package] = []
        for nth in range(rng.randint(1, 3)):
            player = rng.randrange(2)
            chat = chats[player]
            if rng.random() < 0.15:
                del chat[1 + 2 * rng.randrange(len(chat) // 2 + 1) :]  # a memory forgets
            chat += [["assistant", f"a{rng.random()}"], ["user", f"b{rng.random()}"]]
            tried = [["assistant", "Hm."], ["user", "again"]] if rng.random() < 0.2 else []
            messages = [list(m) for m in (*chat, *tried)]
            written = chains.written(0, player, orjson.dumps(messages), package, nth)
            packages[package].append(orjson.loads(written))
            sent[package, nth] = messages
    assert any(isinstance(found, dict) for prompts in packages.values() for found in prompts)
    for (package, nth), messages in sent.items():
        assert resolve_prompt(package, nth, packages.__getitem__) == messages


def test_self_contained_prompts_are_written_as_they_always_were() -> None:
    prompt = orjson.dumps([["system", "s"], ["user", RULES]])
    chains = PromptChains()
    assert [chains.written(0, 0, prompt, 1, nth) for nth in range(2)] == [prompt, prompt]


@pytest.mark.slow
def test_a_journal_of_a_dialogue_grows_with_its_rounds(tmp_path: Path) -> None:
    rng = random.Random(0)
    sent: list[list[list[str]]] = []

    def reply(request: Any) -> str:
        sent.append([[m.role, m.content] for m in request.messages])
        return f"{rng.randbytes(400).hex()}\n[A0]"

    register("lengthy", reply)
    sizes = {}
    try:
        for rounds in (16, 64):
            agent = {"model": "scripted/lengthy", "style": "reasoned", "conversation": "dialogue"}
            rules = {"name": "repetition", "rounds": rounds}
            study = {"name": f"r{rounds}", "game": "prisoners_dilemma", "mechanism": rules, "agent": agent}
            sent.clear()
            play(load_study(study), runs=tmp_path)
            with open_run(f"r{rounds}", tmp_path) as run:
                read = [run.journal.prompt(row["id"]) for row in run.rows.calls()]
                connection = run.journal._read
                assert [prompt_of(connection, row["id"]) for row in run.rows.calls()] == read  # as the viewer shows it
                (sizes[rounds],) = connection.execute("SELECT sum(length(texts)) FROM prompts").fetchone()
            assert sorted(map(str, read)) == sorted(map(str, sent))
    finally:
        unregister("lengthy")
    assert sizes[64] < 8 * sizes[16]  # four times the rounds; written whole it would be sixteen
