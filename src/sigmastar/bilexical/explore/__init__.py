"""What the explorer shows of word vectors, bilexical operators and attachment."""
