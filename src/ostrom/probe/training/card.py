"""The model card of an adapter, in Markdown: what it was trained on and what that can show."""

from __future__ import annotations

from typing import Any

ARMS = {
    "forward": "forward-looking replies",
    "placebo": "cooperative replies that do not look forward (placebo)",
    "shuffled": "forward-looking replies on prompts that they do not answer (shuffled)",
}


def model_card(record: dict[str, Any], converted: bool) -> str:
    """The card for what ``training.json`` records."""
    base, corpus, settings = record["base"], record["corpus"], record["asked"]["settings"]
    shape, schedule = settings["shape"], settings["schedule"]
    losses, held = record["losses"], record["held_out_perplexity"]
    weights = (
        "The base is a quantised GGUF file that was dequantised for training, not the original weights: "
        "the adapter fits this file, and results need not carry over to the original."
        if base["dequantised_gguf"]
        else "The base was trained as it is in its folder."
    )
    told = ARMS.get(str(record["arm"]), "examples of an unnamed corpus")
    perplexity = (
        f"{held['base']:.2f} without the adapter, {held['adapter']:.2f} with it ({corpus['val']} held-out replies)"
        if held["base"] is not None
        else "unknown (no held-out examples)"
    )
    playing = (
        f"`agent: {{model: {base['name']}, settings: {{adapter: THIS_FOLDER, scale: 1}}}}`"
        if converted
        else "run `ostrom train` again where the package gguf is installed: it converts the adapter"
    )
    lines = [
        f"# Adapter: {record['arm'] or 'unnamed'}",
        "",
        f"A low-rank adapter for `{base['name']}`, trained on {corpus['train']} {told}.",
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
