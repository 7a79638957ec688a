"""Control on tensors equals control with NumPy; a processor of logits steers any generator."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch installs it")

from sigmastar.automata.model.generators import make_automaton  # noqa: E402
from sigmastar.automata.model.hmm_conversion import Hmm  # noqa: E402
from sigmastar.control.constraints import avoids, contains, length  # noqa: E402
from sigmastar.control.decoder import ConstrainedDecoder  # noqa: E402
from sigmastar.control.logits import ConstrainedLogits  # noqa: E402
from sigmastar.core.alphabet import Alphabet  # noqa: E402

N_SYMBOLS, MOST = 7, 9
CONSTRAINT = contains([2, 3]) & avoids([5]) & length(3, MOST)
PREFIXES = [[], [2], [2, 3], [0, 0, 1, 4], [5], [1] * 9]


def hmm(stop: float = 0.2) -> Hmm:
    rng = np.random.default_rng(0)
    rows = [rng.dirichlet(np.ones(k), size=size) for k, size in ((5, None), (5, 5), (N_SYMBOLS, 5))]
    return Hmm(Alphabet(range(N_SYMBOLS)), *rows, np.full(5, stop))


@pytest.fixture(autouse=True)
def nothing_moves_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy takes a tensor as an array on a processor, and fails on a GPU: here it fails too."""

    def refuse(*_: object, **__: object) -> None:
        raise TypeError("a tensor is to be moved to the host first")

    monkeypatch.setattr(torch.Tensor, "__array__", refuse)


@pytest.mark.parametrize("kind", ["hmm", "automaton"])
@pytest.mark.parametrize(("precision", "limit"), [("float64", 1e-12), ("float32", 1e-5)])
def test_tensors_give_the_same_weights(kind: str, precision: str, limit: float) -> None:
    model = hmm() if kind == "hmm" else make_automaton(4, N_SYMBOLS, np.random.default_rng(1))
    here = ConstrainedDecoder(model, CONSTRAINT)
    there = ConstrainedDecoder(model, CONSTRAINT, device="auto", precision=precision)
    np.testing.assert_allclose(there.weights(PREFIXES), here.weights(PREFIXES), atol=limit)
    np.testing.assert_allclose(there.probability(PREFIXES), here.probability(PREFIXES), atol=limit)
    np.testing.assert_allclose(
        there.next_distributions(PREFIXES), here.next_distributions(PREFIXES), atol=limit
    )
    drawn = there.draw(300, np.random.default_rng(0))
    assert CONSTRAINT.dfa(range(N_SYMBOLS)).accepts(drawn).all()


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_a_processor_of_logits_steers_a_generator(device: str) -> None:
    """The loop of `generate`: logits that know nothing of the constraint, rows that end, rows that go on."""
    end, offset = 0, 10  # tokens 10 .. 16 are the symbols, of 20 tokens
    decoder = ConstrainedDecoder(hmm(), CONSTRAINT, device=device)
    tokens = {symbol: symbol + offset for symbol in range(N_SYMBOLS)}
    steer = ConstrainedLogits(decoder, end, tokens, prompt_length=2)
    generator = torch.Generator().manual_seed(0)
    favourites = torch.randn((20, 20), generator=generator, dtype=torch.float64)
    rows = torch.full((200, 2), 7)
    ended = torch.zeros(200, dtype=torch.bool)
    for _ in range(MOST + 1):
        logits = steer(rows, favourites[rows[:, -1]])
        drawn = torch.multinomial(logits.softmax(1), 1, generator=generator)
        drawn[ended] = end
        ended |= drawn[:, 0] == end
        rows = torch.cat([rows, drawn], 1)
    assert ended.all()
    strings = [[t - offset for t in row if t != end] for row in rows[:, 2:].tolist()]
    assert len({tuple(string) for string in strings}) > 50
    for string in strings:
        assert 3 <= len(string) <= MOST
        assert 5 not in string
        assert any(string[at : at + 2] == [2, 3] for at in range(len(string)))


def test_the_processor_reads_rows_that_changed_places() -> None:
    decoder = ConstrainedDecoder(hmm(), CONSTRAINT)
    steer, fresh = ConstrainedLogits(decoder, 9), ConstrainedLogits(decoder, 9)
    logits = torch.zeros((2, 10), dtype=torch.float64)
    steer(torch.tensor([[2, 3], [0, 1]]), logits)
    after = torch.tensor([[0, 1, 4], [0, 1, 2]])  # one beam was dropped, the other goes on twice
    assert torch.equal(steer(after, logits), fresh(after, logits))
    assert steer(after, logits)[:, [7, 8]].eq(-torch.inf).all()  # tokens of no symbol


def test_hidden_states_of_words_are_controlled_on_a_device() -> None:
    """A thousand states and more, as `WordModel` learns them; operators of words are never formed."""
    pytest.importorskip("numba", reason="models of words need numba")
    from sigmastar.words.model.emissions import Table
    from sigmastar.words.model.hmm import WordHmm

    rng, n = np.random.default_rng(0), 1200
    initial, moves = (rng.dirichlet(np.ones(n), size).astype(np.float32) for size in (None, n))
    words = rng.dirichlet(np.ones(N_SYMBOLS + 1), n).T.astype(np.float32)
    model = WordHmm(Alphabet(range(N_SYMBOLS)), initial, moves, Table(np.ascontiguousarray(words)))
    there = ConstrainedDecoder(model, CONSTRAINT, device="auto", precision="float32")
    here = ConstrainedDecoder(model.to_hmm(), CONSTRAINT)
    np.testing.assert_allclose(there.weights(PREFIXES), here.weights(PREFIXES), atol=1e-4)
    assert CONSTRAINT.dfa(range(N_SYMBOLS)).accepts(there.draw(20, rng)).all()
