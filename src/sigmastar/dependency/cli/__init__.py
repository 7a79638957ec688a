"""Commands of dependency parsers: CoNLL-U in, CoNLL-U out."""
