"""Names that other libraries have, and what is meant by them here.

An estimator that is asked for one of them says what to write: `n_components` of hmmlearn, `tag` of NLTK,
`state_features_` of sklearn-crfsuite. Commands are looked up in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "n_components": ("n_states",),
    "n_hidden_states": ("n_states",),
    "n_mix": ("n_components",),
    "rank": ("n_states", "n_dimensions"),
    "k": ("n_states", "order"),
    "n": ("order",),
    "n_iter": ("max_iter",),
    "n_iterations": ("max_iter",),
    "num_iters": ("max_iter",),
    "max_iterations": ("max_iter",),
    "n_epochs": ("max_iter", "arc_epochs"),
    "epochs": ("max_iter", "arc_epochs"),
    "tol": ("tolerance",),
    "covariance_type": ("covariance",),
    "init": ("start",),
    "init_params": ("warm_start", "start"),
    "n_init": ("n_seeds",),
    "n_restarts": ("n_seeds",),
    "seed": ("random_state",),
    "n_threads": ("n_jobs",),
    "version": ("method", "statistic"),
    "algorithm": ("method",),
    "smooth_method": ("repair", "smoothing"),
    "lrows": ("basis_size",),
    "lcolumns": ("basis_size",),
    "partial": ("basis_size",),
    "cutoff": ("min_count",),
    "unk_cutoff": ("min_count",),
    "vector_size": ("n_dimensions",),
    "dimension": ("n_dimensions",),
}
"""Of each name the parameters that may be meant; an estimator has one of them, or none."""

ATTRIBUTES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "tag": (("predict", "predict([words])[0]"),),
    "tag_sents": (("predict", "predict(sentences)"),),
    "tag_probs": (("predict_proba", "predict_proba(sentences)"),),
    "parse_one": (("predict", "predict([words])[0]"),),
    "parse_sents": (("predict", "predict(sentences)"),),
    "parse_all": (("predict_nbest", "predict_nbest([words])[0]"),),
    "pipe": (("predict", "predict(texts)"),),
    "tokenize": (("tokenizer", "model_.tokenizer.words(text)"),),
    "predict_single": (("predict", "predict([sentence])[0]"),),
    "predict_marginals": (("predict_proba", "predict_proba(sentences)"),),
    "predict_marginals_single": (("predict_proba", "predict_proba([sentence])[0]"),),
    "state_features_": (("predict_proba", "model_.state_features()"),),
    "transition_features_": (("predict_proba", "model_.transition_features()"),),
    "accuracy": (("score", "score(X, y)"),),
    "evaluate": (("score", "score(X, y)"),),
    "perplexity": (("score_samples", "numpy.exp(-score_samples(X).sum() / n), n symbols and ends"),),
    "entropy": (("score_samples", "-score_samples(X).mean()"),),
    "logscore": (("predict_proba_next", "numpy.log(predict_proba_next(prefixes))"),),
    "generate": (("sample", "sample(n_samples)"),),
    "n_iter_": (("monitor_", "monitor_.iter"),),
    "n_features": (("means_", "means_.shape[-1]"), ("alphabet_", "len(alphabet_)")),
    "n_components": (("n_states", "n_states"),),
    "score_sequences": (("score_samples", "score_samples(X)"),),
    "log_probability": (("score_samples", "score_samples(X)"),),
    "predict_log_proba": (("predict_proba", "numpy.log(predict_proba(X))"),),
    "fit_transform": (("fit", "fit(X)"),),
    "fit_predict": (("fit", "fit(X).predict(X)"),),
    "val": (("score_samples", "automaton_.value(strings)"),),
    "save_pretrained": (("save", "save('model.sigma'), a file that huggingface_hub can upload"),),
    "push_to_hub": (("save", "save('model.sigma'), a file that huggingface_hub can upload"),),
    "save_model": (("save", "save(path)"),),
    "dump": (("save", "save(path)"),),
    "most_similar": (("nearest", "nearest(word)"),),
}
"""Of each name what an estimator must have, and what to write then."""

COMMANDS: Mapping[str, str] = {
    "train": "learn",
    "fit": "learn",
    "test": "evaluate",
    "eval": "evaluate",
    "infer": "predict",
    "tag": "predict",
    "parse": "predict",
    "decode": "predict",
    "compose": "convert",
    "translate": "predict",
    "generate": "sample",
    "info": "show",
    "export": "convert",
    "download": "data get",
    "datasets": "data",
    "validate": "check",
    "verify": "check",
    "hmm": "automaton --method em",
    "em": "automaton --method em",
    "ngram": "automaton --method ngram",
    "lm": "automaton --method ngram",
    "wfa": "automaton",
    "crf": "tagger --method chain",
    "pos": "tagger",
    "ner": "tagger",
    "chunker": "tagger",
    "g2p": "transducer",
    "fst": "transducer",
    "gaussian": "series",
    "classifier": "regression --task classification",
    "regressor": "regression",
    "parser": "dependency",
    "constituency": "treebank",
}
"""Of each command of other tools what is typed here."""


_ALIKE = 0.75  # how like a name must be to be taken for a slip: "warm_start" is no "random_state"


def parameter_meant(name: str, known: Iterable[str]) -> str | None:
    """The parameter that is meant by a name.

    Examples
    --------
    >>> parameter_meant("n_iter", ["n_states", "max_iter"])
    'max_iter'
    >>> parameter_meant("max_itr", ["n_states", "max_iter"])
    'max_iter'
    """
    names = list(known)
    meant = [other for other in PARAMETERS.get(name, ()) if other in names]
    return next(iter(meant or get_close_matches(name, names, 1, _ALIKE)), None)


def command_meant(name: str, known: Collection[str]) -> str | None:
    """The command, with its options, that a name of other tools stands for, or that is spelled alike.

    Examples
    --------
    >>> command_meant("train", ["learn", "score"])
    'learn'
    >>> command_meant("hmm", ["automaton", "tagger"])
    'automaton --method em'
    """
    meant = COMMANDS.get(name.lower(), "")
    return meant if meant.split(" ")[0] in known else next(iter(get_close_matches(name, known, 1)), None)


def no_parameter(kind: type, name: str, known: Iterable[str]) -> str:
    """The message about a parameter that an estimator does not have."""
    meant = parameter_meant(name, known)
    named = f"here it is {meant!r}" if name in PARAMETERS else f"did you mean {meant!r}"
    hint = named if meant else f"it has {', '.join(known)}"
    return f"{kind.__name__} has no parameter {name!r}; {hint}"


def no_words(text: str) -> str:
    """The message about a text where a list of words should stand.

    Examples
    --------
    >>> no_words("the dog")
    "'the dog' is one text; split it into words first, as in sentence.split()"
    >>> no_words("the")
    "'the' is one word where a list of words should stand; of one sentence pass [words]"
    """
    if len(text.split()) > 1:
        return f"{text!r} is one text; split it into words first, as in sentence.split()"
    return f"{text!r} is one word where a list of words should stand; of one sentence pass [words]"


def attribute_meant(name: str, owner: type) -> str | None:
    """What to write instead of an attribute that other libraries have."""
    return next((written for has, written in ATTRIBUTES.get(name, ()) if has_name(owner, has)), None)


def has_name(owner: type, name: str) -> bool:
    """Whether a class has an attribute, or declares one that `fit` sets."""
    return hasattr(owner, name) or any(
        name in vars(base).get("__annotations__", ()) for base in owner.__mro__
    )
