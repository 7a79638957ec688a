"""Learning theory that runs: sample complexity, proper approximations, hardness, noise conditions."""
