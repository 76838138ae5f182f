"""The client that the documentation shows keeps the contract."""

import asyncio
import re
from pathlib import Path
from typing import Any

from ostrom.models.check import check_model

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def test_the_client_of_the_documentation_keeps_the_contract() -> None:
    (code,) = (block for block in blocks() if "class LabModel" in block)
    names: dict[str, Any] = {}
    exec(code, names)
    assert "abilities" in asyncio.run(check_model(names["LabModel"]("m")))
