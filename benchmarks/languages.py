"""Are languages learned from strings as well as their samples allow, whatever the language?

4,000 strings are drawn from a known grammar; `CompletionGrammar()` learns from them with its defaults. `L1`
is the sum of |f - p| over all strings of up to seven symbols (six, of languages over more than five),
`sample's L1` the same of the relative frequencies themselves, `ratio` the one over the other: a learner that
only remembers has a ratio of 1. `completion alone` is the ratio of `CompletionGrammar(em=False)`, on the
first seed. The languages were looked at while the learner was made: they are its development data.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar import CompletionGrammar
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.grammars import expected_length, grammar_values_up_to, normalized, of_rules, total_mass
from sigmastar.grammars.data.substrings import distinct_strings
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.pcfg import parse_rules

N_STRINGS, SEEDS = 4000, 3
LANGUAGES = {
    "Dyck": "S -> S S 0.2 | S -> a S b 0.4 | S -> a b 0.4",
    "a^n b^n": "S -> a S b 0.6 | S -> a b 0.4",
    "a^n b^m": "S -> a S b 0.4 | S -> a S 0.2 | S -> a b 0.25 | S -> a 0.15",
    "palindromes": "S -> a S a 0.25 | S -> b S b 0.25 | S -> a a 0.15 | S -> b b 0.15 | S -> a 0.1 "
    "| S -> b 0.1",
    "marked palindromes": "S -> a S a 0.3 | S -> b S b 0.2 | S -> c 0.5",
    "two brackets": "S -> S S 0.2 | S -> a S b 0.2 | S -> c S d 0.15 | S -> a b 0.25 | S -> c d 0.2",
    "nested brackets": "S -> a T b 0.7 | S -> c 0.3 | T -> d S e 0.5 | T -> S S 0.2 | T -> c 0.3",
    "expressions": "E -> E p T 0.3 | E -> T 0.7 | T -> T m F 0.25 | T -> F 0.75 | F -> l E r 0.2 "
    "| F -> x 0.8",
    "prefix notation": "S -> a S S 0.4 | S -> b 0.6",
    "union": "S -> A B 0.5 | S -> C 0.5 | A -> a A b 0.4 | A -> a b 0.6 | B -> c B 0.3 | B -> c 0.7 "
    "| C -> b C c 0.5 | C -> b c 0.3 | C -> a 0.2",
    "crossed": "S -> A B 0.6 | S -> B A 0.4 | A -> a A b 0.4 | A -> a 0.6 | B -> b B a 0.5 | B -> b 0.5",
    "sentences": "S -> N V 1 | N -> d n 0.6 | N -> p 0.2 | N -> N Q 0.2 | V -> v N 0.5 | V -> i 0.3 "
    "| V -> V Q 0.2 | Q -> w N 1",
}
RANDOM = {f"random, {n} states, {k} symbols": (n, k) for n, k in ((4, 3), (5, 2), (5, 3), (6, 3), (6, 4))}
QUICK = ("a^n b^n",)


def units(settings: Settings) -> list[str]:
    return list(QUICK) if settings.quick else [*LANGUAGES, *RANDOM]


def truth_of(unit: str) -> WeightedGrammar:
    if unit in RANDOM:
        return random_language(*RANDOM[unit], np.random.default_rng(list(RANDOM).index(unit)))
    rules = parse_rules([rule.strip() for rule in LANGUAGES[unit].split("|")])
    found: WeightedGrammar = of_rules(rules.grammar, rules.weights)
    return found


def random_language(n_states: int, n_symbols: int, rng: np.random.Generator) -> WeightedGrammar:
    """A sparse PCFG whose strings have three to nine symbols on average."""
    while True:
        pairs = rng.dirichlet(np.full(n_states**2, 0.15), n_states).reshape(n_states, n_states, n_states)
        words, branching = rng.dirichlet(np.full(n_symbols, 0.3), n_states), rng.uniform(0.2, 0.6, n_states)
        drawn = WeightedGrammar(
            Alphabet([chr(ord("a") + k) for k in range(n_symbols)]),
            rng.dirichlet(np.full(n_states, 0.3)),
            words.T * (1.0 - branching),
            pairs * branching[:, None, None],
        )
        try:
            found: WeightedGrammar = normalized(drawn)
            if total_mass(drawn) > 0.99 and 3.0 < expected_length(found) < 9.0:
                return found
        except ValueError:  # derivations need not end
            continue


def distances(model: WeightedGrammar, truth: WeightedGrammar, strings: Strings) -> tuple[float, float]:
    """L1 to the truth on short strings: of a model, and of the frequencies in a sample."""
    every, p = grammar_values_up_to(truth, 7 if len(truth.alphabet) <= 5 else 6)
    distinct, counts = distinct_strings(strings)
    seen = dict(zip(distinct, (counts / len(strings)).tolist(), strict=True))
    own = np.array([seen.get(string, 0.0) for string in every])
    return float(np.abs(model.value(every) - p).sum()), float(np.abs(own - p).sum())


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    truth = truth_of(unit)
    for seed in range(1 if settings.quick else SEEDS):
        strings = truth.sample(N_STRINGS, settings.rng(7, seed))
        model = CompletionGrammar(random_state=seed)
        _, timing = timed(lambda model=model, strings=strings: model.fit(strings))  # type: ignore[misc]
        l1, own = distances(model.model_, truth, strings)
        row = {
            "strings": len(strings),
            "L1": l1,
            "sample's L1": own,
            "ratio": l1 / own,
            "states of the truth": truth.n_states,
            "states": model.n_states_,
            "start": model.start_,
            "longest seen whole": min(model.exact_, int(strings.lengths.max())),
            "cpu seconds": timing.cpu_seconds,
        }
        if not seed:
            alone = CompletionGrammar(em=False, random_state=seed).fit(strings)
            row["completion alone"] = distances(alone.model_, truth, strings)[0] / own
        yield row


def conclude(rows: list[Row]) -> list[Finding]:
    worst = {unit: max(row["ratio"] for row in rows if row["unit"] == unit) for unit in _units(rows)}
    findings = [Finding(f"{unit}: worst ratio", ratio, Target("<=", 1.3)) for unit, ratio in worst.items()]
    started = [row["start"] == "completed" for row in rows]
    return [
        *findings,
        Finding("share of runs that the completed start won", float(np.mean(started))),
        Finding("most cpu seconds", max(row["cpu seconds"] for row in rows), Target("<=", 60.0)),
    ]


def _units(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["unit"]) for row in rows))


def files(unit: str, settings: Settings) -> list[Path]:
    return []


QUESTION = Question(
    name="languages",
    title="Languages from 4,000 strings: completion with its defaults against the sample itself",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=(
        "strings",
        "L1",
        "sample's L1",
        "ratio",
        "completion alone",
        "states of the truth",
        "states",
        "start",
        "longest seen whole",
        "cpu seconds",
    ),
    files=files,
)
