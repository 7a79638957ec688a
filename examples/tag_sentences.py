"""Tag sentences whose words mostly belong to two tags: taggers on one lexicon, and how sure the best one is.

Everything here works on files in the same way: `train = read_tagged("train.conllu", label="upos")`.
"""

import time

import numpy as np

from sigmastar import EMTagger, NgramTagger, SpectralTagger
from sigmastar.taggers import make_tagged, tagging_scores

rng = np.random.default_rng(0)
whole = make_tagged(rng, 2300)
train, fresh = whole.select(np.arange(2000)), whole.select(np.arange(2000, 2300))
print(f"{len(train)} sentences, {train.n_words} words; the first:", " ".join(train.words[: train.offsets[1]]))

learners = {
    "bigram": NgramTagger(2),
    "trigram": NgramTagger(3),
    "operators": SpectralTagger("spectral"),
    "EM": EMTagger(n_states=6),
    "refined of 1": SpectralTagger(n_states=6, max_iter=15, n_members=1, features=False),
    "refined of 4": SpectralTagger(n_states=6, max_iter=15, n_members=4, features=False),
}
for name, tagger in learners.items():
    begin = time.perf_counter()
    tagger.fit(train)
    seconds = time.perf_counter() - begin
    found = [tag for tags in tagger.predict(fresh) for tag in tags]
    scores = tagging_scores(fresh, found, train.types, rng)
    print(f"{name:>12}: accuracy {scores.accuracy} in {seconds:.2f} s")

sentence = fresh.select([0])
for word, row in zip(sentence.words, tagger.predict_proba(sentence)[0], strict=True):
    likely = ", ".join(f"{tagger.classes_[t]} {row[t]:.2f}" for t in np.argsort(-row)[:2] if row[t] > 0.005)
    print(f"{word:>12}  {likely}")
for tags, probability in tagger.predict_nbest(sentence, 2)[0]:
    print(f"{probability:.3f}", " ".join(tags))
