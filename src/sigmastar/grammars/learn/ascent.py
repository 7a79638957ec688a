"""The last climb: L-BFGS on the logarithms of the rules of a proper grammar.

    p(rule) = exp t(rule) / sum over the rules of the same left side
    dL / dt(rule) = uses(rule) - p(rule) * uses of all rules of its left side

Expected uses are those of EM, so a step costs the same; near the top, where EM creeps, it needs far fewer.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize

from sigmastar.core.arrays import Floats
from sigmastar.core.progress import Progress, silent
from sigmastar.grammars.learn.em import GrammarCorpus
from sigmastar.grammars.model.grammar import WeightedGrammar

_SMALLEST = 1e-12  # probability of a rule: one that EM dropped may come back
_FLAT = 1e-10  # relative gain of a step that ends the climb


def ascend(
    corpus: GrammarCorpus,
    grammar: WeightedGrammar,
    max_iter: int,
    word_prior: float = 0.0,
    progress: Progress = silent,
) -> WeightedGrammar:
    """The proper grammar where the likelihood is highest nearby; words have `word_prior` more uses."""
    extra = word_prior * np.repeat(corpus.unigram[None, :], grammar.n_states, axis=0)
    n_symbols, steps = len(corpus.alphabet), [0]

    def cost(flat: Floats) -> tuple[float, Floats]:
        found, initial, rules = _grammar(flat, grammar)
        counts = corpus.expect(found)
        uses = np.hstack([counts.words.T + extra, counts.composition.reshape(len(initial), -1)])
        at_initial = counts.initial - counts.initial.sum() * initial
        at_rules = uses - uses.sum(axis=1, keepdims=True) * rules
        value = counts.log_likelihood + float((extra * np.log(rules[:, :n_symbols])).sum())
        if not np.isfinite(value):
            return 1e100, np.zeros_like(flat)
        return -value / corpus.n_strings, -np.concatenate([at_initial, at_rules.ravel()]) / corpus.n_strings

    def note(intermediate_result: optimize.OptimizeResult) -> None:
        steps[0] += 1
        message = f"last climb, step {steps[0]}: {-intermediate_result.fun:.4f} nats per string"
        progress(message, min(steps[0] / max_iter, 1.0))

    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": 20, "ftol": _FLAT, "gtol": 1e-9}
    found = optimize.minimize(  # type: ignore[call-overload]
        cost, _logits(grammar), jac=True, method="L-BFGS-B", callback=note, options=options
    )
    return _grammar(np.asarray(found.x, dtype=np.float64), grammar)[0]


def _logits(grammar: WeightedGrammar) -> Floats:
    rules = np.hstack([grammar.words.T, grammar.composition.reshape(grammar.n_states, -1)])
    found: Floats = np.log(np.maximum(np.concatenate([grammar.initial, rules.ravel()]), _SMALLEST))
    return found


def _grammar(flat: Floats, like: WeightedGrammar) -> tuple[WeightedGrammar, Floats, Floats]:
    """The grammar at a point, with its initial probabilities and those of its rules by left side."""
    n, n_symbols = like.n_states, len(like.alphabet)
    initial, rules = _softmax(flat[None, :n])[0], _softmax(flat[n:].reshape(n, -1))
    composition = rules[:, n_symbols:].reshape(n, n, n)
    return WeightedGrammar(like.alphabet, initial, rules[:, :n_symbols].T, composition), initial, rules


def _softmax(rows: Floats) -> Floats:
    raised = np.exp(np.maximum(rows - rows.max(axis=1, keepdims=True), -690.0))
    found: Floats = raised / raised.sum(axis=1, keepdims=True)
    return found
