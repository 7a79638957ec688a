"""The bounds of a fitted estimator."""

from __future__ import annotations

from collections.abc import Hashable

from sigmastar.core.estimator import Estimator
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.model.probabilistic_grammar import ProbabilisticGrammar
from sigmastar.pcfg.theory.assumptions import Assumptions
from sigmastar.pcfg.theory.bounds import Complexity, SampleBound


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
