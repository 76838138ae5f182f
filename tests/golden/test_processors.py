"""No printed digit may depend on the kernel that OpenBLAS chooses for a processor."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
COMPUTED = "infer or robust or test- or estimate or compare or power or pool or panels"
"""Outputs whose numbers come from fits, resamples and matrices."""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are kernels of x86_64")
def test_outputs_are_the_same_on_another_kernel() -> None:
    files = [str(FOLDER / name) for name in ("test_commands.py", "test_panels.py")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *files, "-k", COMPUTED],
        env={**os.environ, "OPENBLAS_CORETYPE": "Prescott"},
        cwd=FOLDER.parents[1],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
