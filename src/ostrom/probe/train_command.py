"""`ostrom train`: a low-rank adapter from a corpus."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostrom.cli.options import Json
from ostrom.cli.output import print_json, say

if TYPE_CHECKING:
    from ostrom.probe.training.loop import Progress


def train(
    corpus: Annotated[Path, typer.Argument(help="A corpus: the folder that `ostrom corpus` wrote.")],
    base: Annotated[str, typer.Option(help="embedded/NAME, a GGUF file, or a folder with weights.")],
    out: Annotated[Path, typer.Option(help="The folder of the adapter.")],
    device: Annotated[str, typer.Option(help="auto | cpu | cuda")] = "auto",
    minutes: Annotated[
        float | None,
        typer.Option(help="Stop cleanly after so many minutes; the same command goes on.", min=0),
    ] = None,
    seed: Annotated[int, typer.Option(help="The training seed.", min=0)] = 0,
    epochs: Annotated[float, typer.Option(help="Times through the corpus.", min=0.01)] = 3.0,
    steps: Annotated[int | None, typer.Option(help="Exactly so many steps instead of epochs.", min=1)] = None,
    batch: Annotated[int, typer.Option(help="Examples per step.", min=1)] = 16,
    micro: Annotated[int, typer.Option(help="Examples in memory at a time.", min=1)] = 2,
    rate: Annotated[float, typer.Option(help="Peak learning rate.", min=1e-8)] = 2e-4,
    rank: Annotated[int, typer.Option(help="Rank of the adapter.", min=1)] = 16,
    alpha: Annotated[int, typer.Option(help="Scale of the adapter.", min=1)] = 32,
    dropout: Annotated[float, typer.Option(help="Dropout before the adapter.", min=0, max=0.9)] = 0.05,
    most_tokens: Annotated[int, typer.Option(help="The longest example.", min=16)] = 3072,
    truncate: Annotated[
        str, typer.Option(help="What a longer example loses: history (oldest rounds) | left (as the paper)")
    ] = "history",
    json: Json = False,
) -> None:
    """Train an adapter; the same command goes on after a stop and does nothing when all is done.

    Exit code: 0 complete, 1 stopped by --minutes, 2 wrong use, 130 interrupted.
    """
    from ostrom.ground.errors import UnknownName
    from ostrom.probe.training.data import TRUNCATE
    from ostrom.probe.training.loop import Schedule
    from ostrom.probe.training.lora import Shape
    from ostrom.probe.training.trainer import Settings, train_adapter

    if device not in ("auto", "cpu", "cuda"):
        raise UnknownName("device", device, ("auto", "cpu", "cuda"))
    if truncate not in TRUNCATE:
        raise UnknownName("way to truncate", truncate, TRUNCATE)
    schedule = Schedule(epochs=epochs, batch=batch, micro=micro, rate=rate, steps=steps)
    settings = Settings(seed, Shape(rank, alpha, dropout), schedule, most_tokens, truncate)  # type: ignore[arg-type]
    done = train_adapter(corpus, base, out, settings, device=device, minutes=minutes, tell=_tell)
    record = done.record
    if json:
        print_json(
            {"adapter": str(out), "complete": record is not None, "did": list(done.did),
             "parity": None if done.parity is None else asdict(done.parity),
             "step": done.progress.step, "steps": done.progress.total, "record": record}
        )  # fmt: skip
    if record is None:
        say(
            f"stopped after step {done.progress.step} of {done.progress.total}; the same command goes on from here"
        )
        sys.exit(1)
    losses, held = record["losses"], record["held_out_perplexity"]
    perplexity = (
        "" if held["base"] is None else f"; held-out perplexity {held['base']:.2f} to {held['adapter']:.2f}"
    )
    say(
        f"{out}: {' and '.join(done.did) or 'already complete, nothing to do'}; {record['steps']} steps on "
        f"{record['device']}, loss {losses[0]:.3f} to {losses[-1]:.3f}{perplexity}"
    )
    if done.parity is not None:
        say(
            f"embedded runtime against the training, four likeliest tokens at {done.parity.places} places: "
            f"log-probabilities differ by at most {done.parity.adapter:.3f}; training moved them by up to "
            f"{done.parity.moved:.3f}"
        )
        if not done.parity.held:
            say("mind: more than 0.2; the runtime does not play the adapter that was trained")
            sys.exit(1)


def _tell(progress: Progress) -> None:
    if progress.step % 10 == 0 or progress.step in (1, progress.total):
        say(f"step {progress.step}/{progress.total}  loss {progress.losses[-1]:.4f}")
