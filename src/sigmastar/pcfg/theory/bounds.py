"""How many samples are enough: theorems 2 and 3 of Cohen and Smith (2012), and proposition 1.

With probability at least 1 - delta, for all f in F_n at once, |empirical risk - risk| <= 2 epsilon, if

    n >= 128 K_n^2 / epsilon^2 (2 N log(16 e K_n / epsilon) + log(32 / delta))           from derivations
    n >= 128 K_n^2 / epsilon^2 (2 N log(32 e K_n M / epsilon) + log(32 / delta))         from strings
    bound(n) <= epsilon delta / 2          epsilon < K_n          K_n = s N log^3 n

N is the number of events in binary normal form, M = m Lambda(m) the number of derivations of up to
m = log(32 K_n / (epsilon (1 - q))) / log(1 / q) events. The paper writes Lambda(m) for M and 4 for 32 in m,
which its own proposition 6, used at epsilon / 8, does not give. The last condition replaces the paper's
(log 4/delta + log 1/epsilon) / kappa.

Proper approximations (section 4). F_m holds the grammars, in binary normal form, whose probabilities are at
least m^-s. They

    are grammars of the same family                                                     containment
    have a loss above K_m with small expectation,  E[f 1{f >= K_m}] <= bound(m)         boundedness
    are close to any f,  p(T(f, m^-s)(z) - f(z) >= tail(m) for some f) <= tail(m)       tightness

    K_m = s N log^3 m          tail(m) = N log^2 m / (m^s - 1)
    bound(m) = s L log m  sum over k > log^2 m of k q^k

The proof in the paper: a derivation of at most log^2 m events has a loss of at most s log^3 m <= K_m. Longer
ones have a loss of at most s |z| log m, and length k has probability at most L q^k. The paper goes on to
bound(m) <= m^(-kappa log m) with a kappa that it states with the wrong sign; the sum itself is sharper
and needs no constant.

Beside them, bounds of spectral learning:

    L-PCFG     M_a >= 128 m^2 / (((1 + epsilon)^(1 / (2N + 1)) - 1)^2 Lambda^2 sigma^4) log(2 m R / delta)
               for every non-terminal a: then 1 - epsilon <= |p^ / p| <= 1 + epsilon for a tree of N rules
    automaton  N >= c n |Sigma|^2 T^4 / (epsilon^2 s_n(H)^4)
               then sum over |x| <= T of |f(x) - f^(x)| <= epsilon, with high probability

Theorem 3 of Cohen et al. (2012); the PAC analysis in the tutorial of Balle, Quattoni and Carreras (2014),
whose constant c is not stated: it is 1 unless given, so that the figure is an order of magnitude only.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from sigmastar.core.estimator import Estimator
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.model.probabilistic_grammar import ProbabilisticGrammar
from sigmastar.pcfg.theory.assumptions import Assumptions

_STEPS = 4000
LOOSE = "These bounds are very loose: they hold for every distribution that fits the assumptions."


def level(log_m: float, n_events: int, s: float) -> float:
    """K_m, of log m."""
    return s * n_events * log_m**3


def log_excess(log_m: float, s: float, assumptions: Assumptions) -> float:
    """log bound(m), of log m."""
    q, first = assumptions.string_decay, math.floor(log_m**2) + 1.0
    if assumptions.scale == 0 or log_m <= 0:
        return -math.inf
    log_sum = first * math.log(q) + math.log(first - (first - 1) * q) - 2 * math.log1p(-q)
    return math.log(s * assumptions.scale * log_m) + log_sum


def tail(m: float, n_events: int, s: float) -> float:
    """tail(m)."""
    return float(n_events * math.log(m) ** 2 / (m**s - 1))


@dataclass(frozen=True)
class SampleBound:
    """A number of samples that is enough, as its logarithm: it can be beyond all floats."""

    log_samples: float
    epsilon: float
    delta: float
    level: float  # K_n
    supervised: bool

    @property
    def samples(self) -> float:
        return float(math.ceil(math.exp(self.log_samples))) if self.log_samples < 700 else math.inf

    def __str__(self) -> str:
        data = "derivations" if self.supervised else "strings"
        return (
            f"10^{self.log_samples / math.log(10):.2f} {data} are enough for an empirical risk within "
            f"{2 * self.epsilon:g} nats of the risk with probability {1 - self.delta:g}. {LOOSE}"
        )


@dataclass(frozen=True)
class Complexity:
    """A family of grammars under assumptions: what the bounds depend on."""

    n_events: int  # in binary normal form
    s: float
    assumptions: Assumptions
    supervised: bool = True

    def __post_init__(self) -> None:
        if self.s <= 1:
            raise ValueError(f"s={self.s}: the theory requires s above 1")

    def log_required(self, log_n: float, epsilon: float, delta: float) -> float:
        """The logarithm of the right side of the first condition."""
        k = level(log_n, self.n_events, self.s)
        cover = 2 * self.n_events * (math.log(16 * k / epsilon) + 1 + self._log_ambiguity(k, epsilon))
        return math.log(128) + 2 * math.log(k / epsilon) + math.log(cover + math.log(32 / delta))

    def _log_ambiguity(self, k: float, epsilon: float) -> float:
        """log(2 M) from strings, 0 from derivations."""
        if self.supervised:
            return 0.0
        q = self.assumptions.string_decay
        m = max(1.0, math.log(32 * k / (epsilon * (1 - q))) / math.log(1 / q))
        return math.log(2 * m) + self.assumptions.log_derivations(m)

    def certifies(self, log_n: float, epsilon: float, delta: float) -> bool:
        """Whether all conditions hold for so many samples."""
        k = level(log_n, self.n_events, self.s)
        if not 0 < epsilon < k or log_excess(log_n, self.s, self.assumptions) > math.log(epsilon * delta / 2):
            return False
        return log_n >= self.log_required(log_n, epsilon, delta)

    def bound(self, epsilon: float, delta: float) -> SampleBound:
        """The least number from which on every number of samples is certified."""
        _require_probability(delta)
        if epsilon <= 0:
            raise ValueError(f"epsilon={epsilon} must be above 0")
        high = 50.0
        while not (self.certifies(high, epsilon, delta) and self.certifies(2 * high, epsilon, delta)):
            high *= 2
        low = max(
            (
                x
                for x in (high * step / _STEPS for step in range(1, _STEPS))
                if not self.certifies(x, epsilon, delta)
            ),
            default=high / _STEPS,
        )
        high = low + high / _STEPS
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self.certifies(middle, epsilon, delta) else (middle, high)
        return SampleBound(high, epsilon, delta, level(high, self.n_events, self.s), self.supervised)

    def guarantee(self, n_samples: float, delta: float) -> float:
        """The least epsilon that so many samples certify; infinite where they certify none."""
        _require_probability(delta)
        log_n = math.log(n_samples)
        k = level(log_n, self.n_events, self.s)
        if n_samples <= 1 or not self.certifies(log_n, k * (1 - 1e-12), delta):
            return math.inf
        low, high = math.log(k) - 60, math.log(k * (1 - 1e-12))
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (low, middle) if self.certifies(log_n, math.exp(middle), delta) else (middle, high)
        return math.exp(high)

    def relative_bound(self, ratio: float, entropy: float, delta: float) -> SampleBound:
        """Samples for |1 - empirical risk / risk| <= ratio: no risk is below the entropy of the data."""
        return self.bound(ratio * entropy / 2, delta)


def multiplicative_samples(rho: float, delta: float, n_events: int) -> float:
    """Equation 17's condition, epsilon = rho K_n: for a ratio within 2 rho s N log^3(n) / H(p).

    Parameters
    ----------
    rho, delta, n_events
        The precision, the probability of failure, and N.

    Returns
    -------
    float
        The number of derivations.
    """
    return 128 / rho**2 * (2 * n_events * (math.log(16 / rho) + 1) + math.log(32 / delta))


def multiplicative_samples_from_strings(
    rho: float, delta: float, n_events: int, assumptions: Assumptions
) -> float:
    """Equation 20's condition, with the number of derivations as in theorem 3 here.

    Parameters
    ----------
    rho, delta, n_events
        The precision, the probability of failure, and N.
    assumptions
        The constants of the distribution.

    Returns
    -------
    float
        The number of strings.
    """
    q = assumptions.string_decay
    m = max(1.0, math.log(32 / (rho * (1 - q))) / math.log(1 / q))
    ambiguity = math.log(2 * m) + assumptions.log_derivations(m)
    return 128 / rho**2 * (2 * n_events * (math.log(16 / rho) + 1 + ambiguity) + math.log(32 / delta))


def entropy_bound(assumptions: Assumptions) -> float:
    """Proposition 1, rederived: an upper bound on the entropy of derivations.

    Derivations with L r^|z| > 1/e have at most t = (1 + log L) / log(1/r) events; there are at most
    t Lambda(t) of them, each with -p log p <= 1/e. For the others -p log p <= -L r^|z| log(L r^|z|).

    Parameters
    ----------
    assumptions
        The constants of the distribution.

    Returns
    -------
    float
        In nats.
    """
    log_l, log_r, q = _log(assumptions.scale), math.log(1 / assumptions.decay), assumptions.string_decay
    t = math.floor(max(0.0, (1 + log_l) / log_r))
    high = t * math.exp(min(assumptions.log_derivations(t), 700.0)) / math.e
    low = assumptions.scale * (log_r * q / (1 - q) ** 2 + max(0.0, -log_l) * q / (1 - q))
    return high + low


def latent_pcfg_samples(
    epsilon: float,
    delta: float,
    n_states: int,
    n_rules: int,
    tree_size: int,
    smallest: float,
    conditioning: float,
) -> float:
    """Trees with each non-terminal that a latent PCFG is learned from.

    Parameters
    ----------
    epsilon, delta, n_states, n_rules, tree_size
        The precision, the probability of failure, m, R and N.
    smallest, conditioning
        Lambda, the least absolute entry of the parameters that the theorem recovers and of the inverse
        covariances; sigma, the least singular value of the feature covariances.

    Returns
    -------
    float
        The number of trees.
    """
    step = math.expm1(math.log1p(epsilon) / (2 * tree_size + 1))
    return (
        128
        * n_states**2
        / (step**2 * smallest**2 * conditioning**4)
        * math.log(2 * n_states * n_rules / delta)
    )


def automaton_samples(
    epsilon: float, n_states: int, n_symbols: int, length: int, conditioning: float, constant: float = 1.0
) -> float:
    """Strings that a spectral automaton is learned from.

    Parameters
    ----------
    epsilon, n_states, n_symbols, length, constant
        The precision, n, the size of the alphabet, T and c.
    conditioning
        The n-th singular value of the block.

    Returns
    -------
    float
        The number of strings.
    """
    return constant * n_states * n_symbols**2 * length**4 / (epsilon**2 * conditioning**4)


def describe(bound: SampleBound) -> dict[str, Any]:
    """A bound as figures."""
    return {
        "samples": bound.samples,
        "log10_samples": bound.log_samples / math.log(10),
        "epsilon": bound.epsilon,
        "delta": bound.delta,
        "level": bound.level,
    }


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _require_probability(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta} must be between 0 and 1")


class SampleBounds(Estimator):
    """What the theory of empirical risk minimization gives for a fitted grammar."""

    model_: ProbabilisticGrammar
    margin_: float
    n_samples_: int
    assumptions_: Assumptions
    objectives_: tuple[float, ...]
    states_: tuple[Hashable, ...]
    s: float

    def complexity(self, supervised: bool = True) -> Complexity:
        """What the bounds depend on: events in binary normal form, s, and the constants of the data."""
        n_events = BinaryForm(self.model_.events).binary.n_events
        return Complexity(n_events, self.s, self.assumptions_, supervised)

    def bound(self, epsilon: float, delta: float, supervised: bool = True) -> SampleBound:
        """How many samples are enough for an empirical risk within 2 epsilon of the risk. Very loose.

        Parameters
        ----------
        epsilon, delta : float
            The precision in nats, and the probability of failure.
        supervised : bool
            Whether derivations are seen, or strings alone.

        Returns
        -------
        SampleBound
            Its `samples` may be infinite, its `log_samples` never is.
        """
        return self.complexity(supervised).bound(epsilon, delta)

    def guarantee(self, n: float, delta: float, supervised: bool = True) -> float:
        """The epsilon that `n` samples certify; infinite where they certify nothing.

        Parameters
        ----------
        n, delta, supervised
            The number of samples; the others as of `bound`.
        """
        return self.complexity(supervised).guarantee(n, delta)
