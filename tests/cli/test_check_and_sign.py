"""Whether a model file is sound, and who signed it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from cli.calls import fail, figures, invoke, succeed
from core.version_1 import bytes_of_version_1
from forged.forging import forged, with_array
from sigmastar.core.model_reading import load_model, read_header
from sigmastar.core.signing import verified_with


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, Path]:
    places = {}
    for name in ("own", "foreign"):
        key = Ed25519PrivateKey.generate()
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        for kind, content in (("private", private), ("public", public)):
            places[f"{name} {kind}"] = tmp_path / f"{name}-{kind}.pem"
            places[f"{name} {kind}"].write_bytes(content)
    return places


def test_a_sound_file(folder: Path) -> None:
    found = figures("check", folder / "fast.model")
    assert (found["kind"], found["version"], found["signature"]) == ("filtered-automaton", 2, "none")
    assert "sound" in invoke("check", folder / "fast.model").stderr


def test_what_is_wrong_is_said(folder: Path, tmp_path: Path) -> None:
    change = with_array("backoff.outcomes", lambda codes: np.full_like(codes, 10**6))
    path = forged(folder / "fast.model", tmp_path / "forged", change)
    line = fail("check", path)
    assert line.startswith(f"{path}: ")
    assert "the array 'outcomes' must hold numbers from 0 to 3" in line


def test_signatures(folder: Path, keys: dict[str, Path], tmp_path: Path) -> None:
    signed = tmp_path / "signed"
    succeed("sign", folder / "fast.model", "--key", keys["own private"], "-o", signed, "-q")
    succeed("check", signed, "--verify-key", keys["own public"])
    succeed("show", signed, "--verify-key", keys["own public"])
    assert "not looked at" in figures("check", signed)["signature"]
    assert "was not signed by the owner" in fail("show", signed, "--verify-key", keys["foreign public"])
    unsigned = fail("score", folder / "fast.model", folder / "lines.txt", "--verify-key", keys["own public"])
    assert "is not signed" in unsigned
    change = with_array("mass", lambda mass: mass * 2)
    resealed = forged(signed, tmp_path / "forged", change)
    assert "is not signed" in fail("check", resealed, "--verify-key", keys["own public"])
    succeed("show", folder / "fast.model")  # the key of one call is not that of the next


def test_learning_signs(folder: Path, keys: dict[str, Path], tmp_path: Path) -> None:
    call = ("learn", "automaton", folder / "lines.txt", "--method", "ngram", "-o", tmp_path / "m")
    succeed(*call, "--sign-key", keys["own private"], "-q")
    result = invoke("show", tmp_path / "m", SIGMASTAR_VERIFY_KEY=str(keys["own public"]))
    assert result.exit_code == 0
    result = invoke("show", tmp_path / "m", SIGMASTAR_VERIFY_KEY=str(keys["foreign public"]))
    assert result.exit_code == 1
    with verified_with(keys["foreign public"]), pytest.raises(ValueError, match="was not signed"):
        load_model(tmp_path / "m")


def test_keys_that_are_none(folder: Path, keys: dict[str, Path], tmp_path: Path) -> None:
    call = ("learn", "automaton", folder / "lines.txt", "-o", tmp_path / "m", "--sign-key")
    assert "no private Ed25519 key" in fail(*call, keys["own public"])
    assert "no private Ed25519 key" in fail(*call, folder / "lines.txt")
    assert "cannot be read" in fail(*call, tmp_path / "nothing")
    assert "no public Ed25519 key" in fail("show", folder / "fast.model", "--verify-key", keys["own private"])
    assert not (tmp_path / "m").exists()


def test_signing_makes_older_files_new(folder: Path, keys: dict[str, Path], tmp_path: Path) -> None:
    model = load_model(folder / "auto.model")
    (tmp_path / "old").write_bytes(bytes_of_version_1(model, {"method": "auto"}))
    succeed("sign", tmp_path / "old", "--key", keys["own private"])
    header = read_header(tmp_path / "old")
    assert (header["version"], header["learned"]) == (2, {"method": "auto"})
    succeed("check", tmp_path / "old", "--verify-key", keys["own public"])
