"""Questions about speed and quality, one file each: `python -m benchmarks [question ...]`."""

import os

# One thread a process, so that timings compare algorithms; libraries read this when they are loaded.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
