"""Steering of PyTorch generators: a processor of logits, as Hugging Face's `generate` takes them.

    steered = ConstrainedLogits(decoder, end_token=tokenizer.eos_token_id, prompt_length=inputs.shape[1])
    model.generate(inputs, logits_processor=[steered], do_sample=True)

It is called with the tokens so far and the logits of the next one, and adds log P(constraint | tokens, next)
as `ConstrainedDecoder.log_weights` gives it. Nothing of Hugging Face is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.control.decoder import ConstrainedDecoder
from sigmastar.control.reading import Prefixes
from sigmastar.core.alphabet import Symbol
from sigmastar.core.errors import InputError
from sigmastar.core.torch_device import import_torch

if TYPE_CHECKING:
    import torch


class ConstrainedLogits:
    """Adds the logarithms of a decoder's weights to logits.

    Parameters
    ----------
    decoder : ConstrainedDecoder
        What looks ahead.
    end_token : int
        The token that ends a string.
    tokens : mapping, optional
        The token of each symbol; if left out the symbols are tokens. Tokens of no symbol are never chosen.
    prompt_length : int
        Number of tokens at the beginning of each row that are no part of the string.
    """

    def __init__(
        self,
        decoder: ConstrainedDecoder,
        end_token: int,
        tokens: Mapping[Symbol, int] | None = None,
        prompt_length: int = 0,
    ) -> None:
        self.decoder, self.end_token, self.prompt_length = decoder, end_token, prompt_length
        table = tokens if tokens is not None else {symbol: symbol for symbol in decoder.alphabet}
        try:
            self.token_ids = np.array([int(table[symbol]) for symbol in decoder.alphabet], dtype=np.int64)  # type: ignore[call-overload]
        except (KeyError, TypeError, ValueError):
            raise InputError(
                "every symbol of the decoder needs a token: a whole number in `tokens`"
            ) from None
        self.codes = {int(token): code for code, token in enumerate(self.token_ids)}
        self._rows: dict[tuple[int, ...], int] = {}
        self._read: Prefixes | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The logits of tokens that keep the constraint possible, weighed by how likely it then is.

        Parameters
        ----------
        input_ids : tensor
            Rows of tokens so far.
        scores : tensor
            Rows of logits.

        Returns
        -------
        tensor
            Rows of logits; a row whose string has ended is left as it is.
        """
        torch = import_torch()
        rows = [tuple(row) for row in input_ids[:, self.prompt_length :].tolist()]
        going = [number for number, row in enumerate(rows) if self.end_token not in row]
        steered = scores.clone()
        if not going:
            return steered
        read = self._advanced([rows[number] for number in going])
        logs = torch.as_tensor(self.decoder.log_weights_there(read)).to(scores)
        columns = torch.as_tensor(np.append(self.token_ids, self.end_token)).to(scores.device)
        chosen = torch.as_tensor(going).to(scores.device)
        weighed = torch.full_like(scores[chosen], -torch.inf)
        weighed[:, columns] = scores[chosen][:, columns] + logs
        steered[chosen] = weighed
        return steered

    def _advanced(self, rows: list[tuple[int, ...]]) -> Prefixes:
        """Read the last token alone where the rest of every row was seen in the last call, as beams do."""
        known = [self._rows.get(row[:-1]) if row else None for row in rows]
        if self._read is None or any(number is None for number in known):
            symbols = self.decoder.alphabet.symbols
            self._read = self.decoder.read([[symbols[self._code(t)] for t in row] for row in rows])
        else:
            before = self.decoder.chosen(self._read, np.array(known))
            self._read = self.decoder.advance(before, np.array([self._code(row[-1]) for row in rows]))
        self._rows = {row: number for number, row in enumerate(rows)}
        return self._read

    def _code(self, token: Any) -> int:
        if token not in self.codes:
            raise InputError(f"token {token} is of no symbol of the decoder; is prompt_length right?")
        return self.codes[token]
