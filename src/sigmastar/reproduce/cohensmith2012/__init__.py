"""Cohen and Smith (2012), empirical risk minimization for probabilistic grammars: figure 1, tables 1 and 2.

Beside them what the paper argues but does not measure: the excess risk of the truncated estimate, of
maximum likelihood and of Dirichlet MAP against the number of trees; how loose the bounds are; and the
likelihood of EM in the truncated space along its way.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Int64s
from sigmastar.core.model_format import hash_arrays
from sigmastar.core.progress import Progress, silent
from sigmastar.core.provenance import provenance
from sigmastar.core.text_files import open_text
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.rules import Grammar, Rule, Word, parse_rules
from sigmastar.pcfg.learn import (
    Ascent,
    Estimate,
    dirichlet_map,
    learn_em,
    learn_supervised,
    margin_of,
    maximum_likelihood,
    random_start,
    truncated,
    truncated_by_reach,
)
from sigmastar.pcfg.model.hidden_markov import HiddenMarkovModel
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import (
    ProbabilisticGrammar,
    derivation_entropy,
    divergence,
    expected_events,
    log_loss_of,
    sample_derivations,
)
from sigmastar.pcfg.theory.assumptions import estimate_assumptions, fit_tail, frequencies
from sigmastar.pcfg.theory.bounds import Complexity, automaton_samples
from sigmastar.reproduce import require_files
from sigmastar.reproduce.cohensmith2012.report import (
    NAME,
    VISITS,
    Findings,
    Looseness,
    Risk,
    Tail,
    reproduction,
)
from sigmastar.reproduce.result import Reproduction

TREEBANKS = {
    "English": "en_ewt",
    "Turkish": "tr_imst",
    "Greek": "el_gdt",
    "Vietnamese": "vi_vtb",
    "Korean": "ko_gsd",
    "Indonesian": "id_gsd",
}
RULES = """S -> NP VP 0.9
S -> VP 0.1
NP -> D N 0.5
NP -> D A N 0.2
NP -> NP PP 0.1
NP -> N 0.2
VP -> V NP 0.6
VP -> V 0.2
VP -> VP PP 0.2
PP -> P NP 1
D -> the 0.6
D -> a 0.38
D -> every 0.02
A -> old 0.7
A -> new 0.25
A -> odd 0.05
N -> dog 0.4
N -> cat 0.3
N -> park 0.2
N -> moon 0.08
N -> yak 0.02
V -> sees 0.6
V -> likes 0.3
V -> eats 0.09
V -> knits 0.01
P -> in 0.6
P -> with 0.4"""
LARGE = 1_000_000  # trees: enough for a deviation to be certified at all
ALPHAS = (1.001, 1.01, 1.05, 1.1, 1.3, 1.5, 2.0)
EXPONENTS = (0.5, 1.1, 1.5, 2.0)
N_RANDOM = 3


def run(
    data_folder: Path, out: Path, quick: bool = False, seed: int = 0, progress: Progress = silent
) -> Reproduction:
    """Read sentence lengths from `data_folder`, write pictures, figures and a page into `out`."""
    sizes, n_samples = ((30, 100, 300), 5) if quick else ((30, 100, 300, 1000, 3000, 10_000), 25)
    progress("tails of sentence lengths", 0.0)
    tails, digest = _tails(data_folder)
    risks: list[Risk] = []
    for place, (name, truth) in enumerate(_truths(seed).items()):
        progress(f"excess risk, {name}", 0.2 + 0.1 * place)
        risks += _risks(name, truth, sizes, n_samples, np.random.default_rng(seed))
    progress("bounds and EM", 0.8)
    truth = _truths(seed)["HMM"]
    rng = np.random.default_rng(seed)
    findings = Findings(
        tails,
        tuple(risks),
        tuple(_looseness(truth, (*sizes, LARGE), rng)),
        _two_bounds(truth),
        _ascent(truth, rng),
    )
    result = reproduction(findings, provenance(seed, digest))
    result.write(out)
    return result


def sentence_lengths(path: Path) -> Int64s:
    """Words per sentence of a CoNLL-U file: lines whose first field is a whole number."""
    lengths, current = list[int](), 0
    for line in open_text(path):
        if not line.strip() and current:
            lengths.append(current)
            current = 0
        current += line.partition("\t")[0].isdecimal()
    return np.array([*lengths, current] if current else lengths, np.int64)


def _tails(folder: Path) -> tuple[tuple[Tail, ...], str]:
    found, read = list[Tail](), list[Int64s]()
    for language, name in TREEBANKS.items():
        parts = [f"ud/{name}-{part}.conllu.gz" for part in ("train", "dev", "test")]
        require_files(folder, parts, NAME)
        train, *others = (sentence_lengths(folder / part) for part in parts)
        found.append(Tail(language, fit_tail(train), frequencies(np.concatenate(others)), len(train)))
        read += [train, *others]
    return tuple(found), hash_arrays(*read)


def _truths(seed: int) -> dict[str, ProbabilisticGrammar]:
    rules = parse_rules(RULES.splitlines())
    alphabet = Alphabet([f"w{k}" for k in range(10)])
    return {
        "HMM": HiddenMarkovModel.random(alphabet, 5, np.random.default_rng(seed), stop=0.15),
        "PCFG": ProbabilisticCFG.of_weights(rules.grammar, rules.weights),
        **{f"random PCFG {k + 1}": random_pcfg(np.random.default_rng([seed, k])) for k in range(N_RANDOM)},
    }


def random_pcfg(rng: np.random.Generator) -> ProbabilisticCFG:
    """Three non-terminals, two words and rules of up to three symbols, of which some are rare."""
    names, words = ("A", "B", "C"), (Word("x"), Word("y"))
    rules = {Rule(name, (word,)): 2.0 + rng.random() for name in names for word in words}
    for name in names:
        for length in rng.integers(2, 4, size=3):
            parts = tuple((*names, *words)[int(k)] for k in rng.integers(5, size=int(length)))
            rules[Rule(name, parts)] = rng.random()
    grammar = Grammar.of(rules)
    return ProbabilisticCFG.of_weights(grammar, np.array([rules[rule] for rule in grammar.rules]))


def _estimates(n: int) -> dict[str, Estimate]:
    erm: dict[str, Estimate] = {f"ERM, s = {s}": truncated(margin_of(n, s)) for s in EXPONENTS}
    prior: dict[str, Estimate] = {f"MAP, alpha = {alpha}": dirichlet_map(alpha) for alpha in ALPHAS}
    return {"MLE": maximum_likelihood, **erm, VISITS: truncated_by_reach(n, 1.1), **prior}


def _risks(
    name: str, truth: ProbabilisticGrammar, sizes: tuple[int, ...], n_samples: int, rng: np.random.Generator
) -> Iterator[Risk]:
    """Medians of the exact excess risk over samples, for every estimate and size."""
    for n in sizes:
        drawn = [sample_derivations(truth, n, rng) for _ in range(n_samples)]
        for label, estimate in _estimates(n).items():
            values = [divergence(truth, learn_supervised(truth, sample, estimate)) for sample in drawn]
            yield Risk(name, label, n, float(np.median(values)), int(np.isinf(values).sum()), tuple(values))


def _looseness(
    truth: ProbabilisticGrammar, sizes: tuple[int, ...], rng: np.random.Generator
) -> Iterator[Looseness]:
    """What was measured for n derivations, and how many the theory requires for as much."""
    n_events = BinaryForm(truth.events).binary.n_events
    means = expected_events(truth)
    for n in sizes:
        drawn = sample_derivations(truth, n, rng)
        model = learn_supervised(truth, drawn, truncated(margin_of(n, 1.5)))
        empirical = log_loss_of(drawn.counts(truth.events.n_events) / n, model.parameters)
        measured = abs(empirical - log_loss_of(means, model.parameters))
        family = Complexity(n_events, 1.5, estimate_assumptions(truth, drawn))
        asked = family.bound(measured / 2, 0.05).log_samples / float(np.log(10))
        certified = 2 * family.guarantee(n, 0.05)
        yield Looseness(n, measured, asked, measured / derivation_entropy(truth), certified)


def _two_bounds(truth: ProbabilisticGrammar) -> dict[str, float]:
    """One hidden Markov model seen as a grammar and as an automaton, within 10%.

    That for latent PCFGs is in the reproduction of the paper which has it.
    """
    assert isinstance(truth, HiddenMarkovModel)
    n_states, n_symbols = truth.n_states, len(truth.alphabet)
    drawn = sample_derivations(truth, 2000, np.random.default_rng(0))
    family = Complexity(BinaryForm(truth.events).binary.n_events, 1.5, estimate_assumptions(truth, drawn))
    erm = family.relative_bound(0.1, derivation_entropy(truth), 0.05).log_samples
    joint = (truth.initial[:, None] * truth.emissions).T @ truth.moves[:, :-1] @ truth.emissions
    conditioning = float(np.linalg.svd(joint, compute_uv=False)[n_states - 1])
    automaton = np.log(automaton_samples(0.1, n_states, n_symbols, 7, conditioning))
    bounds = {
        "ERM of a grammar (theorem 2), risk within 10% of the entropy": erm,
        "spectral automaton (tutorial), strings up to 7 symbols, L1 0.1, constant 1": automaton,
    }
    return {name: float(value / np.log(10)) for name, value in bounds.items()}


def _ascent(truth: ProbabilisticGrammar, rng: np.random.Generator) -> tuple[float, ...]:
    """Log-likelihood per string of EM in the truncated space, from a random start."""
    assert isinstance(truth, HiddenMarkovModel)
    strings = truth.sample(500, rng)
    ascent = Ascent(max_iter=40, tolerance=-1)
    fit = learn_em([random_start(truth, rng)], strings, margin_of(500, 1.5), ascent=ascent)
    return tuple(value / len(strings) for value in fit.objectives)
