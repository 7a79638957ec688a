"""The claims of the tutorial beside what came out here.

The curves themselves are pictures that the text of the slides does not hold: where a claim is about
them, what is set beside it is the comparison that the slide announces, not its figures.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.intervals import PairedComparison
from sigmastar.reproduce.balle2014.trials import EM, STRING, SUBSTRING, Errors, Found, Trial, best_on_dev
from sigmastar.reproduce.result import Claim, percent

FEW_STATES = 10


def claims(found: Found, rng: np.random.Generator) -> list[Claim]:
    return [
        _ignored(found),
        _smaller_blocks(found, rng),
        _few_states(found, rng),
        _longer_counting(found),
        _against_bigram(found, SUBSTRING, "substring", rng),
        _against_bigram(found, STRING, "string", rng),
        _against_em(found, rng),
        _faster(found),
    ]


def _ignored(found: Found) -> Claim:
    setting = _largest_common(found)
    shares = [found.sweeps[learner, setting].share_counted for learner in (STRING, SUBSTRING)]
    return Claim(
        'String statistics: "if the sample contains strings with wide range of lengths, small basis will '
        'ignore most of the examples"',
        f"with {setting}, the block of string statistics holds {percent(shares[0])} of the positions of the "
        f"sample, that of substring statistics {percent(shares[1])}",
        shares[0] < 0.5 < shares[1],
    )


def _smaller_blocks(found: Found, rng: np.random.Generator) -> Claim:
    settings = {setting: sweep for (learner, setting), sweep in found.sweeps.items() if learner == SUBSTRING}
    small = min((s for s in settings if s.startswith("K")), key=lambda s: settings[s].shape)
    substring = best_on_dev(found.curve(SUBSTRING, small))
    string = found.chosen(STRING)
    blocks = [_shape(found.sweeps[trial.learner, trial.setting].shape) for trial in (substring, string)]
    gap = substring.test.against(string.test, rng)
    return Claim(
        'Substring statistics "can work with smaller Hankel matrices"',
        f"a block of {blocks[0]} substrings errs {_rate(substring)}, the best block of string statistics "
        f"({string.setting}, {blocks[1]}) {_rate(string)}: {_points(gap)}",
        _verdict(gap),
    )


def _few_states(found: Found, rng: np.random.Generator) -> Claim:
    """Errors of all sizes are pooled string by string."""
    setting = _largest_common(found)
    strings = {trial.n_states: trial.test for trial in found.curve(STRING, setting)}
    pairs = [
        (trial.test, strings[trial.n_states])
        for trial in found.curve(SUBSTRING, setting)
        if trial.n_states in strings and (trial.n_states or 0) <= FEW_STATES
    ]
    better = sum(substring.rate < string.rate for substring, string in pairs)
    pooled = [Errors.pooled(trials) for trials in zip(*pairs, strict=True)]
    gap = pooled[0].against(pooled[1], rng)
    return Claim(
        "Substring against string statistics at few states (picture only)",
        f"with {setting}, substring statistics err less at {better} of {len(pairs)} sizes up to "
        f"{FEW_STATES} states, {percent(pooled[0].rate)} against {percent(pooled[1].rate)} in the mean: "
        f"{_points(gap)}",
        _verdict(gap),
    )


def _longer_counting(found: Found) -> Claim:
    setting = _largest_common(found)
    string, substring = (found.sweeps[learner, setting].counting_seconds for learner in (STRING, SUBSTRING))
    return Claim(
        'Substring statistics: "but estimating the matrix takes longer"',
        f"with {setting}, counting takes {1000 * substring:.0f} ms against {1000 * string:.0f} ms",
        substring > string,
    )


def _against_bigram(found: Found, learner: str, name: str, rng: np.random.Generator) -> Claim:
    chosen = found.chosen(learner)
    gap = chosen.test.against(found.bigram.test, rng)
    return Claim(
        f'"Comparison with a bigram baseline": {name} statistics below it (picture only)',
        f"{_rate(chosen)} with {chosen.n_states} states ({chosen.setting}) against {_rate(found.bigram)}: "
        f"{_points(gap)}",
        _verdict(gap),
    )


def _against_em(found: Found, rng: np.random.Generator) -> Claim:
    spectral, em = found.chosen(SUBSTRING), found.chosen(EM)
    gap = spectral.test.against(em.test, rng)
    return Claim(
        '"Comparison with a bigram baseline and EM" (picture only; the text leaves open which errs less)',
        f"substring statistics {_rate(spectral)} with {spectral.n_states} states, EM {_rate(em)} with "
        f"{em.n_states}: {_points(gap)}",
        None,
    )


def _faster(found: Found) -> Claim:
    spectral = found.chosen(SUBSTRING)
    seconds = found.em_seconds(spectral.n_states or 1)
    ratio = seconds / max(spectral.seconds, 1e-9)
    return Claim(
        '"At training, the spectral method is > 100 faster than EM"',
        f"{ratio:.0f} times with {spectral.n_states} states: {spectral.seconds:.2f} s against {seconds:.2f} "
        "s for one start of our compiled EM, which works on the prefix tree of the sample",
        ratio > 100,
    )


def _largest_common(found: Found) -> str:
    """The largest number of frequent strings that both statistics were tried with."""
    settings = [s for learner, s in found.sweeps if learner == STRING and (SUBSTRING, s) in found.sweeps]
    return max(settings, key=lambda setting: found.sweeps[SUBSTRING, setting].shape)


def _verdict(gap: PairedComparison) -> bool | None:
    """Whether the first errs less; not decided where the interval holds zero."""
    if gap.low <= 0.0 <= gap.high:
        return None
    return gap.high < 0.0


def _points(gap: PairedComparison) -> str:
    return f"{100 * gap.difference:+.1f} points, 95% interval {100 * gap.low:+.1f} to {100 * gap.high:+.1f}"


def _rate(trial: Trial) -> str:
    return percent(trial.test.rate)


def _shape(shape: tuple[int, int]) -> str:
    return f"{shape[0]:,} x {shape[1]:,}"
