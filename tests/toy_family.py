"""A family from outside the package: coins. One record makes it whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.learning import Learned, Method, built, learn, learn_options, parameter
from sigmastar.core.cli.options import model_argument
from sigmastar.core.demo import DemoResult, DemoRow
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, as_generator
from sigmastar.core.family import Command, Family, Kind
from sigmastar.core.model_reading import load_model
from sigmastar.core.page import Section, Text
from sigmastar.core.text_files import open_text


@dataclass(frozen=True)
class Coin:
    """A coin that shows heads with some probability."""

    heads: float

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"heads": np.array([self.heads])}, {}

    @classmethod
    def from_parts(cls, arrays: dict[str, Any], header: dict[str, Any]) -> Coin:
        return cls(float(arrays["heads"][0]))


@dataclass(eq=False, repr=False)
class CoinEstimator(Estimator):
    """A coin from throws.

    Parameters
    ----------
    prior : float
        Throws of each side that are added to the counts.
    """

    prior: float = 1.0

    def fit(self, X: Any, y: object = None) -> CoinEstimator:
        if not len(X):
            raise InputError("no throws to learn from")
        heads = sum(throw == "h" for throw in X)
        self._replace_fitted(model_=Coin((heads + self.prior) / (len(X) + 2 * self.prior)))
        return self

    def score(self, X: Any, y: object = None) -> float:
        return float(
            np.mean([np.log(self.model_.heads if throw == "h" else 1 - self.model_.heads) for throw in X])
        )

    def sample(self, n_samples: int = 1, random_state: Any = None) -> list[str]:
        rng = as_generator(self.random_state if random_state is None else random_state)
        return ["h" if throw < self.model_.heads else "t" for throw in rng.random(n_samples)]


METHODS = {"counts": Method(CoinEstimator, ("prior",))}


@click.command()
@click.argument("file")
@click.option("--method", type=click.Choice(list(METHODS)), default="counts", help="Way to learn.")
@parameter("prior", "--prior", METHODS["counts"], type=float, help="Number of throws added per side.")
@learn_options
def learn_coin(file: str, method: str, prior: float | None, **options: Any) -> None:
    """Learn a coin from the throws in FILE, one per line."""

    def work(estimator: Any, say: Any) -> Learned:
        throws = [line.strip() for line in open_text(file)]
        estimator.fit(throws)
        return Learned({"n_throws": len(throws)}, f"from {len(throws)} throws")

    learn(built(METHODS, method, {"prior": prior}), method, work, **options)


@click.command()
@model_argument
@click.option("--percent", is_flag=True, help="Percentage in place of a probability.")
def show_coin(model: str, percent: bool) -> None:
    """The probability of heads."""
    heads = load_model(model, "coin").heads
    with atomic_write("-") as stream:
        stream.write(f"{100 * heads:.1f}%\n" if percent else f"{heads:.3f}\n")


class CoinDemo:
    """Coins in the demo."""

    name = "coins"

    def run(self, seed: int, progress: Any) -> DemoResult:
        return DemoResult((DemoRow("coins", "counts", {"error": 0.0}),), Section("Coins", [Text("Throws.")]))


HERE = "toy_family:"
FAMILY = Family(
    name="coins",
    summary="Coins.",
    kinds={"coin": Kind(f"{HERE}Coin", {"show": f"{HERE}show_coin"})},
    estimators={"CoinEstimator": f"{HERE}CoinEstimator"},
    learn={"coin": Command(f"{HERE}learn_coin", "A coin from throws.")},
    demo=f"{HERE}CoinDemo",
)
