"""A stand-in for the program `lm_eval`: it takes the same options, asks sums of the model that is served, logs samples.

``OSTROM_STANDIN`` says how it goes wrong: ``unsafe`` (without the confirmation), ``broken``, ``other`` (items by
model), ``shares`` (scores that are neither 0 nor 1), ``stranger`` (sends another key), ``keys`` (writes the names of
its environment beside the samples).
"""

import argparse
import json
import os
import sys
import urllib.request
from pathlib import Path


def main() -> None:
    """Ask the first sums and log which replies are right."""
    parser = argparse.ArgumentParser()
    for option in ("--model", "--model_args", "--tasks", "--limit", "--output_path", "--include_path"):
        parser.add_argument(option)
    for option in ("--apply_chat_template", "--log_samples", "--confirm_run_unsafe_code"):
        parser.add_argument(option, action="store_true")
    options = parser.parse_args()
    wrong = os.environ.get("OSTROM_STANDIN", "")
    if wrong == "unsafe" and not options.confirm_run_unsafe_code:
        sys.exit("ValueError: Attempted to run task: code which is marked as unsafe.")
    if wrong == "broken":
        sys.exit("first line\nKeyError: 'no such\x1b[2J task'\n")
    model = dict(part.split("=", 1) for part in options.model_args.split(","))
    out = Path(options.output_path) / model["model"]
    out.mkdir(parents=True)
    if wrong == "keys":
        (out / "keys.json").write_text(json.dumps(sorted(os.environ)))
    rows = []
    for number in range(int(options.limit)):
        text = f"What is {number} plus {number}?"
        body = {"messages": [{"role": "user", "content": text}], "max_tokens": 8, "temperature": 0, "stop": []}
        key = "another" if wrong == "stranger" else os.environ["OPENAI_API_KEY"]
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        request = urllib.request.Request(model["base_url"], json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as reply:
            said = json.load(reply)["choices"][0]["message"]["content"]
        score = float(said == str(2 * number)) * (0.5 if wrong == "shares" else 1)
        prompt = model["model"] if wrong == "other" else ""
        row = {"doc_id": number, "doc_hash": f"{number}", "prompt_hash": prompt, "filter": "none"}
        metrics = {"exact_match": score, "errors": 1 - score, "length": 7}
        rows.append({**row, "metrics": list(metrics), **metrics})
    higher = {"sums": {"exact_match": True, "errors": False, "length": True}}
    (out / "results_2026-01-01T00-00-00.1.json").write_text(json.dumps({"higher_is_better": higher}))
    (out / "samples_sums_2026-01-01T00-00-00.1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
