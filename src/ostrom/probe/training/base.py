"""The base model of a training: an embedded model, a GGUF file or a transformers folder.

Trap: transformers 5.17.0 takes ``<|im_start|>`` for the end of a turn in SmolLM2's GGUF file, 5.22.2 takes
``<|im_end|>``, which is what the file says. An adapter trained with the former never stops, and the loss does not
show it. So the end token comes from the file's own metadata, and ``preflight`` renders a conversation to prove it.
"""

import hashlib
import os
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ostrom.ground.errors import UsageError
from ostrom.models.embedded.weights import file_hash, gguf_metadata


def needed(name: str) -> Any:
    """Import a package of the extra ``train``."""
    os.environ.setdefault("TQDM_DISABLE", "1")  # loading weights would show progress bars
    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError(f"training needs one more package: pip install 'ostrom[train]' ({error})") from None


def versions(*names: str) -> dict[str, str | None]:
    """The installed versions; None where a package is not installed."""
    installed: dict[str, str | None] = {}
    for name in names:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = None
    return installed


LOADED = ("*.safetensors", "*.bin", "config.json", "tokenizer*", "generation_config.json", "*.model", "*.jinja")


@dataclass(frozen=True, slots=True)
class Base:
    """The path of the weights, and their hash."""

    name: str
    path: Path
    sha256: str

    @property
    def gguf(self) -> bool:
        """Whether the weights are a GGUF file, which is dequantised for training."""
        return self.path.is_file()


def find_base(name: str) -> Base:
    """The base by name: ``embedded/NAME``, a GGUF file (also as ``embedded//path``), or a folder."""
    rest = name.removeprefix("embedded/")
    path = Path(rest).expanduser()
    if path.is_file() and path.suffix == ".gguf":
        return Base(name, path, file_hash(path))
    if path.is_dir() and (path / "config.json").is_file():
        return Base(name, path, folder_hash(path))
    if name.startswith("embedded/"):
        from ostrom.models.embedded.weights import WEIGHTS, bar, fetch

        with bar(f"fetching {name}") as progress:
            return Base(name, fetch(rest, progress), WEIGHTS[rest].sha256)
    raise UsageError(
        f"--base {name}: is neither an embedded model (embedded/smollm2-135m), nor a GGUF file, nor a folder with a "
        "config.json"
    )


def folder_hash(path: Path) -> str:
    """Return the sha256 over names and hashes of all loaded files."""
    files = sorted({file for pattern in LOADED for file in path.glob(pattern)})
    return hashlib.sha256("".join(f"{file.name} {file_hash(file)}\n" for file in files).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Tokens:
    """Conversation to tokens: the tokenizer with its template, and the end-of-turn token."""

    tokenizer: Any
    end: int
    end_text: str

    def prompt(self, messages: list[dict[str, str]]) -> str:
        """Return the text before the reply."""
        return str(self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text, without special tokens."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])


def load_tokens(base: Base) -> Tokens:
    """Return the tokenizer of a base with its end token, checked by ``preflight``."""
    transformers = needed("transformers")
    if base.gguf:
        needed("gguf")
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(base.path.parent), gguf_file=base.path.name)
        metadata = gguf_metadata(
            base.path, ("tokenizer.ggml.eos_token_id", "tokenizer.ggml.tokens", "tokenizer.chat_template")
        )
        if len(metadata) < 3:
            raise UsageError(f"{base.path}: states no end token or no chat template; it cannot be trained for chat")
        end = int(metadata["tokenizer.ggml.eos_token_id"])
        text = str(metadata["tokenizer.ggml.tokens"][end])
        tokenizer.chat_template = metadata["tokenizer.chat_template"]
    else:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(base.path))
        if tokenizer.eos_token_id is None or tokenizer.chat_template is None:
            raise UsageError(f"{base.path}: states no end token or no chat template; it cannot be trained for chat")
        end, text = int(tokenizer.eos_token_id), str(tokenizer.eos_token)
    tokens = Tokens(tokenizer, end, text)
    preflight(tokens, base.name)
    return tokens


def preflight(tokens: Tokens, name: str) -> None:
    """Refuse a tokenizer whose rendered conversation is not prompt + reply + end token."""
    messages = [{"role": "user", "content": "Which one?"}]
    reply = "The first one.\n[A0]"
    rendered = str(
        tokens.tokenizer.apply_chat_template([*messages, {"role": "assistant", "content": reply}], tokenize=False)
    )
    if rendered.rstrip() != (tokens.prompt(messages) + reply + tokens.end_text).rstrip():
        raise UsageError(
            f"{name}: a rendered conversation is not prompt + reply + {tokens.end_text!r}: it ends with "
            f"{rendered[-40:]!r}; an adapter would learn the wrong end (is the tokenizer the model's own?)"
        )
    if tokens.encode(tokens.end_text) != [tokens.end]:
        raise UsageError(
            f"{name}: the tokenizer writes the end token {tokens.end_text!r} as {tokens.encode(tokens.end_text)}, "
            f"the model's file says {tokens.end}"
        )


def load_model(base: Base, device: str, dtype: str) -> Any:
    """Load the weights for training on a device; a GGUF file is dequantised."""
    torch, transformers = needed("torch"), needed("transformers")
    transformers.utils.logging.disable_progress_bar()
    folder, file = (base.path.parent, {"gguf_file": base.path.name}) if base.gguf else (base.path, {})
    model = transformers.AutoModelForCausalLM.from_pretrained(str(folder), dtype=getattr(torch, dtype), **file)
    model.to(device=device, dtype=getattr(torch, dtype))
    model.eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return model
