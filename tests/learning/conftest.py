"""Small products gain nothing from more BLAS threads, and lose much on busy cores: one for all learners."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sigmastar.parallel import one_blas_thread


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread() -> Iterator[None]:
    with one_blas_thread():
        yield
