"""Simulate a job on many workers, of which some are slow and some fail.

The page "10^12 words, on paper" of the documentation stands on it: shards are counted by whoever is free, and
what a worker holds is lost with it, unless a ledger keeps it.
"""

import heapq

import numpy as np

# A shard takes so many seconds on average, with some spread; a few workers are four times slower. A worker
# that fails is away for a minute, and loses the last parts that it counted.

SECONDS, SPREAD, SLOW, AWAY, HELD = 0.5, 0.3, 4.0, 60.0, 8


def simulated(n_shards, n_workers, slow_share, hours_between_failures, has_ledger, rng):
    """Seconds until all shards are counted, and the number of shards that were counted again."""
    speeds = np.where(rng.random(n_workers) < slow_share, SLOW, 1.0)
    failures = rng.exponential(3600.0 * hours_between_failures, n_workers)
    free, n_open, n_again, end = [(0.0, worker) for worker in range(n_workers)], n_shards, 0, 0.0
    done = np.zeros(n_workers, np.int64)
    while n_open:
        now, worker = heapq.heappop(free)
        finished = now + SECONDS * speeds[worker] * rng.lognormal(-(SPREAD**2) / 2, SPREAD)
        if finished > failures[worker]:
            lost = 0 if has_ledger else min(int(done[worker]), HELD)
            n_open, n_again, done[worker] = n_open + lost, n_again + lost + 1, 0
            heapq.heappush(free, (failures[worker] + AWAY, worker))
            failures[worker] += AWAY + rng.exponential(3600.0 * hours_between_failures)
            continue
        n_open, end, done[worker] = n_open - 1, max(end, finished), done[worker] + 1
        heapq.heappush(free, (finished, worker))
    return end, n_again


# Five times each. In the last two rows a worker fails about every ten hours, a hundred times more often than
# machines do.
rng = np.random.default_rng(0)
n_shards, n_workers = 20_000, 256
ideal = n_shards * SECONDS / n_workers
for name, slow, hours, ledger in (
    ("all alike", 0.0, 1e9, True),
    ("2% are slow", 0.02, 1e9, True),
    ("2% are slow, failures, no ledger", 0.02, 10.0, False),
    ("2% are slow, failures, ledger", 0.02, 10.0, True),
):
    runs = [simulated(n_shards, n_workers, slow, hours, ledger, rng) for _ in range(5)]
    seconds, again = np.mean(runs, axis=0)
    print(f"{name:<34}{seconds:7.1f} s, {seconds / ideal:.2f} x ideal, {again:6.1f} shards counted again")
