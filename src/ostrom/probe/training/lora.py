"""Low-rank adapters on linear layers (Hu et al. 2022), saved in the format of peft.

Own modules, so that a training machine needs torch and transformers alone. y = W x + (alpha / r) B A dropout(x); A is
drawn on the CPU, the same on every device, and B starts at zero, so that training starts from the base model.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostrom.ground.errors import UsageError
from ostrom.ground.files import write_whole
from ostrom.probe.training.packages import needed

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


@dataclass(frozen=True, slots=True)
class Shape:
    """Rank, scale and dropout; the defaults are those of Liu et al. (2026, Appendix I.2)."""

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.05


def attach(model: Any, shape: Shape, seed: int) -> dict[str, Any]:
    """Put an adapter on every target layer; the new layers by name. ``layer.scale`` 0 switches one off."""
    torch = needed("torch")
    nn = torch.nn

    class LoraLinear(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, base: Any, generator: Any) -> None:
            super().__init__()
            self.base, self.scale = base, shape.alpha / shape.rank
            first = torch.empty(shape.rank, base.in_features, dtype=torch.float32)
            nn.init.kaiming_uniform_(first, a=math.sqrt(5), generator=generator)
            device = base.weight.device
            self.lora_A = nn.Parameter(first.to(device))
            self.lora_B = nn.Parameter(torch.zeros(base.out_features, shape.rank, device=device))

        def forward(self, x: Any) -> Any:
            y = self.base(x)
            if not self.scale:
                return y
            dropped = nn.functional.dropout(x, shape.dropout, self.training)
            small = nn.functional.linear(dropped, self.lora_A.to(x.dtype))
            return y + self.scale * nn.functional.linear(small, self.lora_B.to(x.dtype))

    generator = torch.Generator().manual_seed(seed)
    found = [(n, m) for n, m in model.named_modules() if n.rpartition(".")[2] in TARGETS]
    if not found or not all(isinstance(m, nn.Linear) for _, m in found):
        raise UsageError(
            f"the base has no linear layers named {', '.join(TARGETS)}: it cannot be adapted here"
        )
    layers = {}
    for name, module in found:
        parent, _, last = name.rpartition(".")
        layers[name] = LoraLinear(module, generator)
        setattr(model.get_submodule(parent), last, layers[name])
    model.train(
        model.training
    )  # new layers begin in training mode: without this, dropout disturbs what is measured
    return layers


def tensors(layers: dict[str, Any]) -> dict[str, Any]:
    """The trained parameters under the names that peft gives them."""
    named = {}
    for name, layer in layers.items():
        for part in ("lora_A", "lora_B"):
            named[f"base_model.model.{name}.{part}.weight"] = getattr(layer, part)
    return named


def load_into(layers: dict[str, Any], saved: dict[str, Any]) -> None:
    """Set the parameters from tensors named as in ``tensors``."""
    torch = needed("torch")
    own = tensors(layers)
    if set(own) != set(saved):
        raise UsageError("the saved adapter has other layers than this base")
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(saved[name].to(parameter.device, parameter.dtype))


def save(folder: Path, layers: dict[str, Any], shape: Shape, base: str, dtype: str) -> None:
    """Write the adapter as peft reads it."""
    torch = needed("torch")
    safetensors = needed("safetensors.torch")
    kept = {n: t.detach().to("cpu", getattr(torch, dtype)).contiguous() for n, t in tensors(layers).items()}
    write_whole(folder / WEIGHTS, safetensors.save(kept, metadata={"format": "pt"}), sync=True)
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": shape.rank,
        "lora_alpha": shape.alpha,
        "lora_dropout": shape.dropout,
        "target_modules": list(TARGETS),
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
    }
    write_whole(folder / CONFIG, (json.dumps(config, indent=2) + "\n").encode(), sync=True)


def read(folder: Path) -> dict[str, Any]:
    """The tensors of a saved adapter."""
    found: dict[str, Any] = needed("safetensors.torch").load_file(str(folder / WEIGHTS))
    return found
