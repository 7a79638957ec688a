"""Figures of a running server: how many requests, with which outcome, and how long they took."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
from itertools import accumulate

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds that answers are sorted by."""


class Meter:
    """Counts of requests by path and status, and their times, in the text that Prometheus reads."""

    def __init__(self) -> None:
        self._lock, self._began = threading.Lock(), time.monotonic()
        self._statuses: Counter[tuple[str, int]] = Counter()
        self._times = [0] * (len(BOUNDS) + 1)
        self._seconds = 0.0

    def add(self, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self._statuses[route, status] += 1
            self._seconds += seconds
            self._times[bisect_left(BOUNDS, seconds)] += 1

    @property
    def uptime(self) -> float:
        return time.monotonic() - self._began

    def text(self) -> str:
        with self._lock:
            total = sum(self._statuses.values())
            within = zip(BOUNDS, accumulate(self._times), strict=False)
            lines = [
                "# HELP sigmastar_requests_total Requests by route and status.",
                "# TYPE sigmastar_requests_total counter",
                *(
                    f'sigmastar_requests_total{{route="{route}",status="{status}"}} {count}'
                    for (route, status), count in sorted(self._statuses.items())
                ),
                "# HELP sigmastar_request_seconds Time from request to answer.",
                "# TYPE sigmastar_request_seconds histogram",
                *(f'sigmastar_request_seconds_bucket{{le="{bound}"}} {count}' for bound, count in within),
                f'sigmastar_request_seconds_bucket{{le="+Inf"}} {total}',
                f"sigmastar_request_seconds_sum {self._seconds:.6f}",
                f"sigmastar_request_seconds_count {total}",
                "# HELP process_cpu_seconds_total Processor time of the server.",
                "# TYPE process_cpu_seconds_total counter",
                f"process_cpu_seconds_total {time.process_time():.6f}",
                "# HELP sigmastar_uptime_seconds Time since the start.",
                "# TYPE sigmastar_uptime_seconds gauge",
                f"sigmastar_uptime_seconds {self.uptime:.1f}",
            ]
        return "\n".join(lines) + "\n"
