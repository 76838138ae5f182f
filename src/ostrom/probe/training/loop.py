"""The training loop: weighted loss, checkpoints that are whole or not there, and the same bits after a stop.

L = mean over the batch of w x (mean cross-entropy over the tokens of the reply), Liu et al. (2026, Appendix I.2).
Chance (order, dropout) depends on the seed and the number of the step alone, never on what ran before, so that
straight, resumed and repeated runs are the same to the bit on a CPU.
"""

import io
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ostrom.ground.errors import UsageError
from ostrom.ground.files import write_whole
from ostrom.probe.training.base import needed
from ostrom.probe.training.data import Encoded, batches
from ostrom.probe.training.lora import load_into, tensors

CHECKPOINT = "checkpoint.pt"
SECONDS = 30.0
"""A checkpoint at least so often, where steps are slow."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast; the defaults are those of Liu et al. (2026, Appendix I.2)."""

    epochs: float = 3.0
    batch: int = 16
    micro: int = 2
    rate: float = 2e-4
    warmup: float = 0.03
    steps: int | None = None
    """Exactly so many steps, whatever the epochs."""

    def total(self, examples: int) -> int:
        """How many steps it is for a corpus of this size."""
        return self.steps or max(1, math.ceil(self.epochs * examples / self.batch))

    def rate_at(self, step: int, total: int) -> float:
        """The learning rate of a step, counted from 0: linear warm-up, then a cosine to zero.

        >>> s = Schedule(rate=1.0, warmup=0.1)
        >>> [round(s.rate_at(n, 11), 2) for n in (0, 1, 2, 6, 10)]
        [0.5, 1.0, 0.98, 0.5, 0.02]
        """
        warm = max(1, math.ceil(self.warmup * total))
        if step < warm:
            return self.rate * (step + 1) / warm
        return self.rate * 0.5 * (1 + math.cos(math.pi * (step - warm + 1) / (total - warm + 1)))


@dataclass
class Progress:
    """Where a training stands."""

    step: int
    total: int
    losses: list[float] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether all steps are made."""
        return self.step >= self.total


Told = Callable[[Progress], None]


def train(
    model: Any,
    layers: dict[str, Any],
    examples: Sequence[Encoded],
    schedule: Schedule,
    seed: int,
    folder: Path,
    *,
    identity: str,
    minutes: float | None = None,
    every: int = 20,
    tell: Told | None = None,
) -> Progress:
    """Train from the checkpoint in the folder, or from the beginning; stops cleanly after ``minutes``."""
    torch = needed("torch")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    named = tensors(layers)
    optimizer = torch.optim.AdamW(list(named.values()), lr=schedule.rate, weight_decay=0.0)
    progress = Progress(0, schedule.total(len(examples)))
    _resume(folder / CHECKPOINT, identity, progress, layers, optimizer)
    saved = time.monotonic()
    until = None if minutes is None else saved + 60 * minutes
    model.train()
    for step, batch in enumerate(batches(examples, schedule.batch, schedule.micro, progress.total, seed)):
        if step < progress.step:
            continue
        for group in optimizer.param_groups:
            group["lr"] = schedule.rate_at(step, progress.total)
        size, total = sum(map(len, batch)), 0.0
        for number, micro in enumerate(batch):
            torch.manual_seed((seed * 1_000_003 + step) * 1_009 + number)
            chosen = [examples[i] for i in micro]
            losses = reply_losses(model, chosen)
            loss = (losses * torch.tensor([e.weight for e in chosen], device=losses.device)).sum() / size
            loss.backward()
            total += float(loss.detach())
        if not math.isfinite(total):
            raise UsageError(f"the loss of step {step + 1} is {total}: try a lower --rate")
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        progress.step = step + 1
        progress.losses.append(round(total, 6))
        if tell is not None:
            tell(progress)
        now = time.monotonic()
        stop = until is not None and now >= until
        # When checkpoints are made changes nothing in the result: chance follows the step.
        if (progress.step % every == 0 or now - saved >= SECONDS or stop) and not progress.done:
            _save(folder / CHECKPOINT, identity, progress, named, optimizer)
            saved = time.monotonic()
        if stop and not progress.done:
            break
    model.eval()
    return progress


def reply_losses(model: Any, examples: Sequence[Encoded]) -> Any:
    """The mean cross-entropy of each reply; logits are made at the reply's positions alone."""
    torch = needed("torch")
    device = next(model.parameters()).device
    width = max(example.length for example in examples)
    ids = torch.zeros(len(examples), width, dtype=torch.long)
    mask = torch.zeros(len(examples), width, dtype=torch.long)
    rows: list[int] = []
    columns: list[int] = []
    targets: list[int] = []
    for i, example in enumerate(examples):
        whole = example.prompt + example.reply
        ids[i, : len(whole)] = torch.tensor(whole)
        mask[i, : len(whole)] = 1
        rows += [i] * len(example.reply)
        columns += range(len(example.prompt) - 1, len(whole) - 1)
        targets += example.reply
    decoder = getattr(model, model.base_model_prefix)
    hidden = decoder(
        input_ids=ids.to(device), attention_mask=mask.to(device), use_cache=False
    ).last_hidden_state
    logits = model.get_output_embeddings()(hidden[rows, columns]).float()
    each = torch.nn.functional.cross_entropy(logits, torch.tensor(targets, device=device), reduction="none")
    lengths = torch.tensor([len(e.reply) for e in examples], dtype=each.dtype, device=device)
    # A product instead of an in-place scatter: its order of addition is fixed on every device.
    belongs = torch.tensor(rows, device=device) == torch.arange(len(examples), device=device)[:, None]
    return (belongs.to(each.dtype) @ each) / lengths


def held_out_loss(model: Any, examples: Sequence[Encoded], micro: int) -> float | None:
    """The mean over replies of their mean cross-entropy; None without examples. Its exponential is the perplexity."""
    torch = needed("torch")
    if not examples:
        return None
    order = sorted(examples, key=lambda e: e.length)
    model.eval()
    with torch.no_grad():
        parts = [reply_losses(model, order[i : i + micro]).sum() for i in range(0, len(order), micro)]
    return float(sum(map(float, parts)) / len(order))


def _save(path: Path, identity: str, progress: Progress, named: dict[str, Any], optimizer: Any) -> None:
    torch = needed("torch")
    held = io.BytesIO()
    state = {
        "identity": identity,
        "step": progress.step,
        "losses": progress.losses,
        "adapter": {name: tensor.detach().cpu() for name, tensor in named.items()},
        "optimizer": optimizer.state_dict(),
    }
    torch.save(state, held)
    write_whole(path, held.getvalue(), sync=True)


def _resume(path: Path, identity: str, progress: Progress, layers: dict[str, Any], optimizer: Any) -> None:
    torch = needed("torch")
    if not path.is_file():
        return
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        same = state["identity"] == identity
    except Exception as error:
        raise UsageError(
            f"{path}: is no checkpoint that can be read ({type(error).__name__}); remove it"
        ) from None
    if not same:
        raise UsageError(
            f"{path}: belongs to another training (other corpus, base or settings); use another --out"
        )
    progress.step, progress.losses = int(state["step"]), list(state["losses"])
    load_into(layers, state["adapter"])
    optimizer.load_state_dict(state["optimizer"])
