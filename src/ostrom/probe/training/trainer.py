"""A complete training: preflight, training, adapter, probes, conversion, record and card.

Every step is skipped where its result is there already, so the same command goes on after a stop and does nothing after
the end. A machine without the package gguf leaves the conversion to the next one.

The training loop: weighted loss, checkpoints that are whole or not there, and the same bits after a stop.

L = mean over the batch of w x (mean cross-entropy over the tokens of the reply), Liu et al. (2026, Appendix I.2).
Chance (order, dropout) depends on the seed and the number of the step alone, never on what ran before, so that
straight, resumed and repeated runs are the same to the bit on a CPU.
"""

import hashlib
import io
import json
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ostrom.ground.errors import UsageError
from ostrom.ground.files import write_atomically
from ostrom.ground.version import __version__
from ostrom.models.embedded.weights import GGUF, file_hash
from ostrom.probe.training import lora
from ostrom.probe.training.base import Base, find_base, load_model, load_tokens, needed, versions
from ostrom.probe.training.data import Encoded, Truncate, batches, corpus_hash, encode, read_examples
from ostrom.probe.training.lora import Parity, load_into, parity, read_parity, tensors, to_gguf, write_probes

CHECKPOINT = "checkpoint.pt"
SECONDS = 30.0
"""The longest time between checkpoints, in seconds."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The length and rate of a training; defaults as in Liu et al. (2026, Appendix I.2)."""

    epochs: float = 3.0
    batch: int = 16
    micro: int = 2
    rate: float = 2e-4
    warmup: float = 0.03
    steps: int | None = None
    """The exact number of steps, whatever the epochs."""

    def total(self, examples: int) -> int:
        """Return the number of steps for a corpus of this size."""
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
    """The progress of a training."""

    step: int
    total: int
    losses: list[float] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether all steps are made."""
        return self.step >= self.total


TellProgress = Callable[[Progress], None]


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
    tell: TellProgress | None = None,
) -> Progress:
    """Train from the checkpoint in the folder, or from the start; stops cleanly after ``minutes``."""
    torch = needed("torch")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    parameters = tensors(layers)
    optimizer = torch.optim.AdamW(list(parameters.values()), lr=schedule.rate, weight_decay=0.0)
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
        # The time of checkpoints does not affect the result: random draws depend on the step.
        if (progress.step % every == 0 or now - saved >= SECONDS or stop) and not progress.done:
            _save(folder / CHECKPOINT, identity, progress, parameters, optimizer)
            saved = time.monotonic()
        if stop and not progress.done:
            break
    model.eval()
    return progress


def reply_losses(model: Any, examples: Sequence[Encoded]) -> Any:
    """Return the mean cross-entropy of each reply; logits are computed at its positions alone."""
    torch = needed("torch")
    device = next(model.parameters()).device
    width = max(example.length for example in examples)
    ids = torch.zeros(len(examples), width, dtype=torch.long)
    mask = torch.zeros(len(examples), width, dtype=torch.long)
    rows: list[int] = []
    columns: list[int] = []
    targets: list[int] = []
    for i, example in enumerate(examples):
        sequence = example.prompt + example.reply
        ids[i, : len(sequence)] = torch.tensor(sequence)
        mask[i, : len(sequence)] = 1
        rows += [i] * len(example.reply)
        columns += range(len(example.prompt) - 1, len(sequence) - 1)
        targets += example.reply
    decoder = getattr(model, model.base_model_prefix)
    hidden = decoder(input_ids=ids.to(device), attention_mask=mask.to(device), use_cache=False).last_hidden_state
    logits = model.get_output_embeddings()(hidden[rows, columns]).float()
    each = torch.nn.functional.cross_entropy(logits, torch.tensor(targets, device=device), reduction="none")
    # A product instead of an in-place scatter: its order of addition is fixed on every device.
    return (
        (torch.tensor(rows, device=device) == torch.arange(len(examples), device=device)[:, None]).to(each.dtype) @ each
    ) / torch.tensor([len(e.reply) for e in examples], dtype=each.dtype, device=device)


def held_out_loss(model: Any, examples: Sequence[Encoded], micro: int) -> float | None:
    """Return the mean over replies of their mean cross-entropy; None without examples."""
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
    buffer = io.BytesIO()
    state = {
        "identity": identity,
        "step": progress.step,
        "losses": progress.losses,
        "adapter": {name: tensor.detach().cpu() for name, tensor in named.items()},
        "optimizer": optimizer.state_dict(),
    }
    torch.save(state, buffer)
    write_atomically(path, buffer.getvalue(), sync=True)


def _resume(path: Path, identity: str, progress: Progress, layers: dict[str, Any], optimizer: Any) -> None:
    torch = needed("torch")
    if not path.is_file():
        return
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        same = state["identity"] == identity
    except Exception as error:
        raise UsageError(f"{path}: is no checkpoint that can be read ({type(error).__name__}); remove it") from None
    if not same:
        raise UsageError(f"{path}: belongs to another training (other corpus, base or settings); use another --out")
    progress.step, progress.losses = int(state["step"]), list(state["losses"])
    load_into(layers, state["adapter"])
    optimizer.load_state_dict(state["optimizer"])


RECORD, CARD, PARITY = "training.json", "README.md", "parity.json"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that determine an adapter, besides its base and corpus."""

    seed: int = 0
    shape: lora.Shape = field(default_factory=lora.Shape)
    schedule: Schedule = field(default_factory=Schedule)
    most_tokens: int = 3072
    truncate: Truncate = "history"


@dataclass(frozen=True, slots=True)
class Trained:
    """The result of ``train_adapter``."""

    folder: Path
    progress: Progress
    did: tuple[str, ...]
    """The steps that this call made; empty if all was done before."""
    record: dict[str, Any] | None = None
    """The record; None if the training is incomplete."""
    parity: Parity | None = None
    """How closely the embedded runtime matches the training; None if not compared."""


def train_adapter(
    corpus: Path,
    base_name: str,
    out: Path,
    settings: Settings,
    *,
    device: str = "auto",
    minutes: float | None = None,
    tell: TellProgress | None = None,
) -> Trained:
    """Train an adapter, or continue a stopped training; steps that were made before are skipped."""
    base = find_base(base_name)
    spec = {"base": base.sha256, "corpus": corpus_hash(corpus), "settings": json.loads(json.dumps(asdict(settings)))}
    record = _recorded(out)
    did = []
    if record is None:
        outcome = _train(corpus, base, out, settings, spec, _device(device), minutes, tell)
        if isinstance(outcome, Progress):
            return Trained(out, outcome, ("trained",))
        record = outcome
        did.append("trained")
    elif record["asked"] != spec:
        raise UsageError(f"{out}: holds another training ({_difference(record['asked'], spec)}); use another --out")
    if base.gguf and not (out / GGUF).is_file() and versions("gguf")["gguf"] is not None:
        to_gguf(out, base.path, base.sha256, settings.shape.alpha)
        (out / PARITY).unlink(missing_ok=True)
        did.append("converted")
    if (out / GGUF).is_file() and not (out / PARITY).is_file() and versions("xllamacpp")["xllamacpp"] is not None:
        write_atomically(
            out / PARITY, (json.dumps(asdict(parity(out, out / GGUF, base.path)), indent=1) + "\n").encode()
        )
        did.append("compared")
    card = model_card(record, (out / GGUF).is_file()).encode()
    if not (out / CARD).is_file() or (out / CARD).read_bytes() != card:
        write_atomically(out / CARD, card)
    return Trained(
        out, Progress(record["steps"], record["steps"], record["losses"]), tuple(did), record, read_parity(out / PARITY)
    )


def _train(
    corpus: Path, base: Base, out: Path, settings: Settings, spec: dict[str, Any], device: str,
    minutes: float | None, tell: TellProgress | None,
) -> Progress | dict[str, Any]:  # fmt: skip
    start = time.monotonic()
    rows, val_rows = read_examples(corpus / "train.jsonl"), read_examples(corpus / "val.jsonl")
    if not rows:
        raise UsageError(f"{corpus}: has no training examples")
    tokens = load_tokens(base)
    fitted = encode(rows, tokens, settings.most_tokens, settings.truncate)
    if not fitted.examples:
        raise UsageError(f"{corpus}: no example fits into {settings.most_tokens} tokens")
    val = encode(val_rows, tokens, settings.most_tokens, settings.truncate)
    dtype = "bfloat16" if device == "cuda" else "float32"
    model = load_model(base, device, dtype)
    before = held_out_loss(model, val.examples, settings.schedule.micro)
    layers = lora.attach(model, settings.shape, settings.seed)
    out.mkdir(parents=True, exist_ok=True)
    identity = hashlib.sha256(json.dumps([spec, dtype], sort_keys=True).encode()).hexdigest()
    progress = train(
        model, layers, fitted.examples, settings.schedule, settings.seed, out,
        identity=identity, minutes=minutes, tell=tell,
    )  # fmt: skip
    if not progress.done:
        return progress
    lora.save(out, layers, settings.shape, base.name, dtype)
    # From here on the saved adapter is measured, rounding included.
    lora.load_into(layers, lora.read(out))
    after = held_out_loss(model, val.examples, settings.schedule.micro)
    if dtype != "float32":
        # Rounded weights change log-probabilities more than another runtime may: compare unrounded ones.
        model = load_model(base, device, "float32")
        layers = lora.attach(model, settings.shape, settings.seed)
        lora.load_into(layers, lora.read(out))
    write_probes(out, model, layers, tokens, [*val_rows, *rows], settings.most_tokens)
    record = {
        "arm": rows[0].get("arm"),
        "asked": spec,
        "base": {"name": base.name if base.name.startswith("embedded/") else base.path.name,
                 "sha256": base.sha256, "dequantised_gguf": base.gguf},
        "corpus": {"train": len(fitted.examples), "val": len(val.examples),
                   "shortened": fitted.shortened, "left_out_as_too_long": fitted.too_long},
        "adapter_sha256": file_hash(out / lora.WEIGHTS),
        "end_token": tokens.end_text,
        "steps": progress.total,
        "losses": progress.losses,
        "held_out_loss": {"base": before, "adapter": after},
        "held_out_perplexity": {"base": _exp(before), "adapter": _exp(after)},
        "device": str(needed("torch").cuda.get_device_name()) if device == "cuda" else "cpu",
        "dtype": dtype,
        "seconds_of_last_session": round(time.monotonic() - start, 1),
        "versions": {"ostrom": __version__, **versions("torch", "transformers", "gguf")},
    }  # fmt: skip
    # The record is written last: if it exists, everything before it is complete.
    write_atomically(out / RECORD, (json.dumps(record, indent=1) + "\n").encode(), sync=True)
    (out / CHECKPOINT).unlink(missing_ok=True)
    return record


def _recorded(out: Path) -> dict[str, Any] | None:
    path = out / RECORD
    if not path.is_file():
        return None
    try:
        record: dict[str, Any] = json.loads(path.read_bytes())
        if record["adapter_sha256"] != file_hash(out / lora.WEIGHTS):
            raise UsageError(f"{out}: {lora.WEIGHTS} is not the adapter that {RECORD} describes")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: cannot be read ({type(error).__name__}); use another --out") from None
    return record


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    if old.get("base") != new["base"]:
        return "of another base"
    if old.get("corpus") != new["corpus"]:
        return "on another corpus"
    pairs = (_flat(old.get("settings", {})), _flat(new["settings"]))
    return ", ".join(
        f"{key} {pairs[0].get(key)} not {pairs[1].get(key)}"
        for key in sorted({*pairs[0], *pairs[1]})
        if pairs[0].get(key) != pairs[1].get(key)
    )


def _flat(data: dict[str, Any]) -> dict[str, Any]:
    nested = (value if isinstance(value, dict) else {key: value} for key, value in data.items())
    return {key: value for settings in nested for key, value in settings.items()}


def _device(wanted: str) -> str:
    torch = needed("torch")
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda: this machine has no GPU that torch can use (allowed: auto, cpu)")
    return wanted


def _exp(loss: float | None) -> float | None:
    return None if loss is None else math.exp(loss)


ARMS = {
    "forward": "forward-looking replies",
    "placebo": "cooperative replies that do not look forward (placebo)",
    "shuffled": "forward-looking replies on prompts that they do not answer (shuffled)",
}


def model_card(record: dict[str, Any], converted: bool) -> str:
    """The card for what ``training.json`` records."""
    base, corpus, settings = record["base"], record["corpus"], record["asked"]["settings"]
    shape, schedule = settings["shape"], settings["schedule"]
    losses, ppl = record["losses"], record["held_out_perplexity"]
    weights = (
        "The base is a quantised GGUF file that was dequantised for training, not the original weights: "
        "the adapter fits this file, and results need not carry over to the original."
        if base["dequantised_gguf"]
        else "The base was trained as it is in its folder."
    )
    description = ARMS.get(str(record["arm"]), "examples of an unnamed corpus")
    perplexity = (
        f"{ppl['base']:.2f} without the adapter, {ppl['adapter']:.2f} with it ({corpus['val']} held-out replies)"
        if ppl["base"] is not None
        else "unknown (no held-out examples)"
    )
    playing = (
        f"`agent: {{model: {base['name']}, settings: {{adapter: THIS_FOLDER, scale: 1}}}}`"
        if converted
        else "run `ostrom more train` again where the package gguf is installed: it converts the adapter"
    )
    lines = [
        f"# Adapter: {record['arm'] or 'unnamed'}",
        "",
        f"A low-rank adapter for `{base['name']}`, trained on {corpus['train']} {description}.",
        "",
        weights,
        "",
        f"* base sha256 `{base['sha256']}`; corpus sha256 `{record['asked']['corpus']}`; adapter sha256 "
        f"`{record['adapter_sha256']}`",
        f"* rank {shape['rank']}, alpha {shape['alpha']}, dropout {shape['dropout']}, attention and MLP projections",
        f"* {record['steps']} steps of {schedule['batch']}, AdamW, peak rate {schedule['rate']:g}, cosine, "
        f"{100 * schedule['warmup']:g} % warm-up, seed {settings['seed']}",
        f"* loss per reply weighted by forward x specificity / 100; first step {losses[0]:.3f}, last {losses[-1]:.3f}",
        f"* truncation `{settings['truncate']}` at {settings['most_tokens']} tokens: {corpus['shortened']} shortened, "
        f"{corpus['left_out_as_too_long']} left out",
        f"* end of turn `{record['end_token']}`; perplexity {perplexity}",
        f"* {record['device']}, {record['dtype']}; "
        + ", ".join(f"{name} {version}" for name, version in record["versions"].items() if version),
        "",
        f"To play: {playing}",
        "",
        "An adapter that cooperates more shows that training changed behaviour, not why. Compare it with the placebo "
        "and the shuffled adapter, with several training seeds, and with players that exploit.",
        "",
    ]
    return "\n".join(lines)
