"""Strategy inference: shares of strategies and memory-one response tables of each agent.

``from ostrom.features.inference import infer_strategies`` is printed in the docs; it loads on demand.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "infer_strategies":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ostrom.features.inference.runs import infer_strategies

    return infer_strategies
