"""Learn a language model over thousands of words, and see what each of its parts is worth.

The text is made: hidden topics follow each other, and each topic has words of its own, few of them frequent.
Real text comes in the same way, a line per list of words.
"""

import time

import numpy as np

from sigmastar import NgramAutomaton, WordModel

rng = np.random.default_rng(0)
N_TOPICS, N_WORDS, LENGTH = 12, 250, 12
moves = rng.dirichlet(np.full(N_TOPICS, 0.1), N_TOPICS)
ranks = 1.0 / (np.arange(N_WORDS) + 3.0)


def line() -> list[str]:
    topic, words = rng.integers(N_TOPICS), []
    for _ in range(LENGTH):
        words.append(f"{chr(97 + topic)}{rng.choice(N_WORDS, p=ranks / ranks.sum())}")
        topic = rng.choice(N_TOPICS, p=moves[topic])
    return words


train, fresh = ([line() for _ in range(n)] for n in (3000, 500))
n_tokens = sum(len(words) + 1 for words in fresh)
alphabet = sorted({word for words in (*train, *fresh) for word in words})
print(f"{len(train)} lines over {len(alphabet)} words")


def told(name: str, model: NgramAutomaton | WordModel) -> None:
    begin = time.perf_counter()
    log_likelihood = model.fit(train).score_samples(fresh).sum()
    seconds = time.perf_counter() - begin
    print(f"{name:>28}: perplexity {np.exp(-log_likelihood / n_tokens):.0f} in {seconds:.1f} s")


told("trigrams", NgramAutomaton(order=3, smoothing="modified-kneser-ney", alphabet=alphabet))
told("states, random start", WordModel(n_states=24, order=0, start="random", alphabet=alphabet))
told("states, spectral start", WordModel(n_states=24, order=0, alphabet=alphabet))
both = WordModel(n_states=24, order=3, alphabet=alphabet)
told("spectral states and trigrams", both)

prefix = fresh[0][:5]
print(f"after {' '.join(prefix)}: {' '.join(map(str, both.predict_next([prefix], top=5)[0]))}")
