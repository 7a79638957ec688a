"""Corpora on disk: shards of integers behind a manifest, for data larger than memory."""
