"""Learn a grammar's probabilities from trees, from strings, and from both; ask what the theory promises.

The truth is known here, so the excess risk (the divergence from it, in nats per derivation) can be told.
"""

import numpy as np

from sigmastar import ERMGrammar
from sigmastar.pcfg import (
    Formula,
    ProbabilisticCFG,
    best_likelihood,
    divergence,
    parse_rules,
    reduce_formula,
    sample_derivations,
)

RULES = """S -> NP VP 1
NP -> the N 0.6
NP -> the A N 0.1
NP -> NP PP 0.3
VP -> V NP 0.8
VP -> VP PP 0.2
PP -> with NP 1
A -> old 0.9
A -> odd 0.1
N -> dog 0.6
N -> park 0.4
V -> saw 0.95
V -> fed 0.05"""

known = parse_rules(RULES.splitlines())
truth = ProbabilisticCFG.of_weights(known.grammar, known.weights)
rng = np.random.default_rng(0)

print("excess risk after n trees, infinite where a rule of the truth was never seen")
for n in (10, 30, 100, 1000):
    trees = truth.trees(sample_derivations(truth, n, rng))
    risks = {
        method: divergence(truth, ERMGrammar(RULES, method, s=1.1).fit(trees).model_)
        for method in ("mle", "erm", "map")
    }
    print(f"  n = {n:<5}", "  ".join(f"{method} {risk:.4f}" for method, risk in risks.items()))

few = truth.trees(sample_derivations(truth, 20, rng))
strings = [string for string in truth.sample(300, rng) if len(string) < 25]
alone = ERMGrammar(RULES, "em", n_seeds=3, max_iter=20).fit(strings)
both = ERMGrammar(RULES, "em", max_iter=20).fit(strings, trees=few)
print(f"excess risk, {len(strings)} strings: {divergence(truth, alone.model_):.3f}")
print(f"excess risk, with 20 trees beside them: {divergence(truth, both.model_):.3f}")
print("the best tree:", both.predict([["the", "dog", "saw", "the", "park", "with", "the", "dog"]])[0])

trained = ERMGrammar(RULES).fit(few)
print(trained.bound(epsilon=0.5, delta=0.05))

formula = Formula(3, ((1, 2, 3), (-1, -2, 3), (1, -2, -3)))
print(
    f"a formula as a grammar of {len(reduce_formula(formula).grammar.rules)} rules: the string of digits can"
)
print(f"have a likelihood of {best_likelihood(formula):g}, so the formula is satisfiable")
