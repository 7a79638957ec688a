"""Tag sentences whose words mostly belong to two tags: taggers on one lexicon, and how sure the best one is.

Everything here works on files in the same way: `train = read_tagged("train.conllu", label="upos")`.
"""

import time

import numpy as np

from sigmastar.taggers.data.generators import make_tagged
from sigmastar.taggers.learn.methods import TaggerSettings, learn_tagger
from sigmastar.taggers.metrics import tagging_scores

rng = np.random.default_rng(0)
whole = make_tagged(rng, 2300)
train, fresh = whole.select(np.arange(2000)), whole.select(np.arange(2000, 2300))
print(f"{len(train)} sentences, {train.n_words} words; the first:", " ".join(train.words[: train.offsets[1]]))

one = TaggerSettings(n_states=6, n_iterations=15, n_members=1, features=False)
four = TaggerSettings(n_states=6, n_iterations=15, n_members=4, features=False)
learners = [("bigram", TaggerSettings()), ("trigram", TaggerSettings()), ("spectral", TaggerSettings())]
learners += [("em", TaggerSettings(n_states=6)), ("refined", one), ("refined", four)]
for method, settings in learners:
    begin = time.perf_counter()
    tagger = learn_tagger(train, method, settings, np.random.default_rng(0))
    seconds = time.perf_counter() - begin
    scores = tagging_scores(fresh, tagger.predict(fresh), tagger.lexicon.word_codes, rng)
    print(f"{method:>9} of {len(tagger.members)}: accuracy {scores.accuracy} in {seconds:.2f} s")

sentence = fresh.select([0])
for word, row in zip(sentence.words, tagger.predict_proba(sentence), strict=True):
    likely = ", ".join(f"{tagger.tags[t]} {row[t]:.2f}" for t in np.argsort(-row)[:2] if row[t] > 0.005)
    print(f"{word:>10}  {likely}")
for tags, value in tagger.predict_nbest(sentence, 2)[0]:
    print(f"{value:.3f}", " ".join(tags))
