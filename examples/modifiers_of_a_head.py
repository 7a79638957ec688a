"""Learn which modifiers fit a head from pairs of a known relation, and look at its few dimensions.

With text and a treebank the same goes by `WordVectors` and `read_relation`, or on the command line.
"""

import numpy as np

from sigmastar import BilexicalOperator
from sigmastar.bilexical import make_relation, pairwise_accuracy

made = make_relation(np.random.default_rng(0), rank=3)
operator = BilexicalOperator(made.vectors, rank=12).fit(made.pairs)
model = operator.model_
test = made.pairs.select(model.split.test)

print(f"{made.pairs.n_pairs} pairs, {len(model.split.test)} test heads, c {operator.strength_:g} chosen")
print("singular values:", model.weights.singular_values.round(2))
for rank in (1, 2, 3, 6):
    small = model.projected(min(rank, model.weights.rank))
    accuracy = pairwise_accuracy(small.scores, test).micro
    print(f"rank {rank}: accuracy {accuracy:.3f} at {small.n_operations} operations per head")
print("the likeliest modifiers of h7:", model.top("h7", 3))
