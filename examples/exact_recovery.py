"""One formula for strings and for trees: exact statistics give the model back.

    H ~ F B        A_sigma = F^+ . H_sigma . (B^+ (x) .. (x) B^+)

A model is a function on terms built from a signature: strings are terms of stop and of symbols with one
argument, trees have symbols with none, one or two. Blocks hold the values of small terms, plugged
together from outsides (a hole to fill) and insides. `recover` does not know which of the two it works on.
"""

from collections.abc import Callable
from itertools import product

import numpy as np

from sigmastar.core.alphabet import Alphabet, OperatorModel, Signature, Term, string_signature, tree_signature
from sigmastar.core.recover import Blocks, factorize_blocks, recover

Outside = Callable[[Term], Term]


def random_model(signature: Signature, n_states: int, rng: np.random.Generator) -> OperatorModel:
    """Signed operators of a size that keeps values near one."""
    operators = {
        op: rng.standard_normal((len(op.alphabet), n_states, *[n_states] * op.arity))
        / n_states ** (op.arity / 2)
        for op in signature.operations
    }
    return OperatorModel(signature, {signature.roots[0]: rng.standard_normal(n_states)}, operators)


def layers(signature: Signature, n_layers: int) -> list[Term]:
    """All terms up to a depth."""
    terms: list[Term] = []
    for _ in range(n_layers):
        built = [
            Term(op, code, children)
            for op in signature.operations
            for code in range(len(op.alphabet))
            for children in product(terms, repeat=op.arity)
        ]
        terms = list(dict.fromkeys([*terms, *built]))
    return terms


def around(signature: Signature, insides: list[Term]) -> list[Outside]:
    """The bare hole, and every operation with a hole in it, once and twice over."""
    once: list[Outside] = [
        lambda t, op=op, code=code, place=place, beside=beside: Term(
            op, code, (*beside[:place], t, *beside[place:])
        )
        for op in signature.operations
        for code in range(len(op.alphabet))
        for place in range(op.arity)
        for beside in product(insides[:2], repeat=op.arity - 1)
    ]
    twice = [lambda t, outer=outer, inner=inner: outer(inner(t)) for outer, inner in product(once, once)]
    return [lambda t: t, *once, *twice]


def exact_blocks(model: OperatorModel, outsides: list[Outside], insides: list[Term]) -> Blocks:
    """The values of all terms that the basis can make."""
    signature, sort = model.signature, model.signature.roots[0]
    slices = {
        op: np.array(
            [
                [
                    [model.value(o(Term(op, code, c))) for c in product(insides, repeat=op.arity)]
                    for o in outsides
                ]
                for code in range(len(op.alphabet))
            ]
        ).reshape(len(op.alphabet), len(outsides), *[len(insides)] * op.arity)
        for op in signature.operations
    }
    matrix = np.array([[model.value(o(i)) for i in insides] for o in outsides])
    return Blocks(signature, {sort: matrix}, slices, {sort: np.array([model.value(i) for i in insides])})


def show(name: str, signature: Signature, n_states: int, depth: int, rng: np.random.Generator) -> None:
    truth = random_model(signature, n_states, rng)
    insides = layers(signature, depth)
    blocks = exact_blocks(truth, around(signature, insides), insides)
    found = recover(blocks, factorize_blocks(blocks, n_states))
    larger = layers(signature, depth + 1)[len(insides) :]
    errors = [abs(found.value(term) / truth.value(term) - 1.0) for term in larger]
    shape = " x ".join(map(str, blocks.matrices[signature.roots[0]].shape))
    print(
        f"{name}: a block of {shape}, {n_states} states, {len(larger)} larger terms, error {max(errors):.0e}"
    )


rng = np.random.default_rng(0)
show("strings", string_signature(Alphabet("ab")), 4, 4, rng)
show("trees", tree_signature(Alphabet("xy"), Alphabet("u"), Alphabet("f")), 3, 2, rng)
