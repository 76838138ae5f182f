"""Every mistake that README and docs promise an answer to: the line, where it is written and the exit code."""

import pytest
from tests.golden.cases import ERRORS
from tests.golden.conftest import Golden, Shell


@pytest.mark.parametrize("case", ERRORS)
def test_error(case: str, shell: Shell, golden: Golden) -> None:
    golden(shell(ERRORS[case]))
