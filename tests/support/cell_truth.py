"""Rounds of a cell whose truth is known, and how often it is decided wrongly."""

from math import exp, sqrt
from random import Random

from msgspec import Struct

from ioplan.core.statistics.student_t import quantile
from ioplan.language import Metric
from ioplan.language.plan import Within
from ioplan.results.measure import Figure, decide

WITHIN = Within(metric=Metric(name="iops"), percent=3.0)
ROUNDS, SERIES = 25, 500
SPREADS = (0.003, 0.01, 0.02, 0.05)


def related(random, spread, correlation=0.0):
    """Rounds around 1, each like the one before it to this extent."""
    noise, found = random.gauss(0, 1), []
    for _ in range(ROUNDS):
        found.append(1 + spread * noise)
        fresh = sqrt(1 - correlation**2) * random.gauss(0, 1)
        noise = correlation * noise + fresh
    return found


def spiked(random, spread):
    """A tenth of the rounds is 15 % too slow; the mean is 1."""
    values = related(random, spread)
    return [v * (0.85 if random.random() < 0.1 else 1) / 0.985 for v in values]


def falling(random, spread, rounds):
    """From 50 % above; what is left of it falls to 1/e in so many rounds."""
    values = related(random, spread)
    return [v * (1 + 0.5 * exp(-n / rounds)) for n, v in enumerate(values)]


def stepped(random, spread, rounds):
    """A plateau 15 % above for so many rounds."""
    values = related(random, spread)
    return [v * (1.15 if n < rounds else 1) for n, v in enumerate(values)]


SHAPES = {
    "independent": related,
    "each round 30 % like the last": lambda r, s: related(r, s, 0.3),
    "each round 60 % like the last": lambda r, s: related(r, s, 0.6),
    "every tenth round 15 % slow": spiked,
    "falls by 50 %, fast": lambda r, s: falling(r, s, 1),
    "falls by 50 %, in 3 rounds": lambda r, s: falling(r, s, 3),
    "falls by 50 %, in 6 rounds": lambda r, s: falling(r, s, 6),
}
STEP = "falls by 15 % after 6 rounds, unforeseen"


class Errors(Struct, frozen=True):
    """Of a number of series: the share decided wrongly, decided, and the rounds done."""

    wrong_percent: float
    decided_percent: float
    rounds: float

    def __str__(self):
        return f"{self.wrong_percent:.1f} %, {self.rounds:.1f}"


def ours(figures):
    """The mean, once it is decided."""
    found = decide(WITHIN, figures)
    return found.mean if found.reached else None


def naive(figures):
    """The same by an interval of 95 % at each look, over all rounds from the second."""
    values = [one.value or 0.0 for one in figures]
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    variance = sum((v - mean) ** 2 for v in values) / (len(values) - 1)
    half = quantile(0.975, len(values) - 1) * sqrt(variance / len(values))
    return mean if half <= mean * WITHIN.percent / 100 else None


def errors(shape, spread, judge=ours, series=SERIES):
    """How a judge does on series drawn anew."""
    random, wrong, decided, rounds = Random(1), 0, 0, 0
    for _ in range(series):
        figures = [Figure(value) for value in shape(random, spread)]
        number, mean = _ended(figures, judge)
        rounds += number
        decided += mean is not None
        wrong += mean is not None and abs(mean - 1) > WITHIN.percent / 100
    return Errors(100 * wrong / series, 100 * decided / series, rounds / series)


def _ended(figures, judge):
    for number in range(2, ROUNDS + 1):
        if (mean := judge(figures[:number])) is not None:
            return number, mean
    return ROUNDS, None


def table():
    """Of all shapes and spreads: decided wrongly, and rounds done in the mean."""
    heads = [f"rounds differ by {100 * spread:g} %" for spread in SPREADS]
    rows = [["a cell's rounds", *heads], ["---"] * (len(heads) + 1)]
    shapes = {**SHAPES, STEP: lambda r, s: stepped(r, s, 6)}
    for name, shape in shapes.items():
        rows.append([name, *(str(errors(shape, spread)) for spread in SPREADS)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"
