"""Kernels follow their laws as plain Python too: no result depends on how they are compiled.

Compiled code does not check indices and wraps integers silently; here both would be errors. That
numbers overflow to infinity is none.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAWS = [
    "exact/test_enumeration.py",
    "mcmc/test_parents.py",
    "scores/test_bdeu.py",
    "scores/test_bge.py",
    "tables/test_logspace.py",
    "tables/test_table.py",
]


@pytest.mark.long
@pytest.mark.parametrize("laws", LAWS)
def test_laws_hold_uncompiled(laws: str) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-W", "ignore:overflow encountered:RuntimeWarning"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"tests/{laws}"],
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
