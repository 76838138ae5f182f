"""Every mistake that README and docs promise an answer to: the line, where it is written and the exit code."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion
from tests.golden.cases import ERRORS
from tests.golden.conftest import Shell


@pytest.mark.parametrize("case", ERRORS)
def test_error(case: str, shell: Shell, golden: SnapshotAssertion) -> None:
    assert shell(ERRORS[case]) == golden
