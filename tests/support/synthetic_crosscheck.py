"""Cells of two backends whose true ratio is known, for the judge of `crosscheck`."""

from ioplan.runner.session.crosscheck import METRICS, Pairs, judged

QD = 16


def cell(rng, rounds, noise, ratio):
    """IOPS of a closed loop, the mean that follows from them, and a p99 that does not;
    the noise is that of one run, and a p99 has twice as much."""
    pairs = Pairs("T", {})
    for number, side in enumerate(pairs.sides):
        for _ in range(rounds):
            true = 1e5 * (ratio if number else 1.0)
            iops = true * rng.lognormvariate(0, noise)
            own = {
                "iops": iops,
                "bandwidth": iops * 4096,
                "mean": QD / iops * rng.lognormvariate(0, noise / 10),
                "p99": 3 * QD / true * rng.lognormvariate(0, 2 * noise),
            }
            for metric in METRICS:
                side.values[metric.name].append(own[metric.name])
    return pairs


def verdicts(rng, cells, rounds, noises, off):
    """Of each cell, in a table whose last one has a true difference of `off` %."""
    ratios = [1.0] * (cells - 1) + [1 + off / 100]
    table = [cell(rng, rounds, rng.uniform(*noises), ratio) for ratio in ratios]
    rows = judged(table)
    each = len(rows) // cells
    return [
        {row.verdict for row in rows[n * each : (n + 1) * each]} for n in range(cells)
    ]
