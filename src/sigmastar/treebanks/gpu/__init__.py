"""Latent grammars on tensors: charts of whole batches, and expectations over the states of trees."""
