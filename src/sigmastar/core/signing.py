"""Signatures of model files: who wrote a file, where a checksum only says that it is whole.

Ed25519 keys in PEM files, as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write them. What
is signed is the checksum of the file, which depends on every byte of it. Needs `pip install sigmastar[sign]`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sigmastar.core.errors import InputError
from sigmastar.core.model_format import SIGNING_KEY, KeyPath
from sigmastar.core.model_reading import VERIFYING_KEY

_CONTEXT = b"sigmastar model file\n"
_LARGEST_KEY = 100_000


@contextmanager
def signed_with(key: KeyPath) -> Iterator[None]:
    """A block that signs every model file that it writes; a key that is none is refused at once."""
    _private(key)
    before = SIGNING_KEY.set(key)
    try:
        yield
    finally:
        SIGNING_KEY.reset(before)


@contextmanager
def verified_with(key: KeyPath) -> Iterator[None]:
    """A block that refuses model files that the owner of this public key did not sign."""
    _public(key)
    before = VERIFYING_KEY.set(key)
    try:
        yield
    finally:
        VERIFYING_KEY.reset(before)


def signature(checksum: str, key: KeyPath) -> str:
    """The signature of a checksum by a private key."""
    signed: bytes = _private(key).sign(_CONTEXT + checksum.encode())
    return signed.hex()


def is_signed_by(checksum: str, signature: str, key: KeyPath) -> bool:
    """Whether the owner of a public key made this signature of this checksum."""
    from cryptography.exceptions import InvalidSignature

    public = _public(key)
    try:
        public.verify(bytes.fromhex(signature), _CONTEXT + checksum.encode())
    except (InvalidSignature, ValueError):
        return False
    return True


def _private(key: KeyPath) -> Any:
    serialization, ed25519 = _cryptography()
    content = _content(key)
    try:
        found = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError):
        found = None
    if not isinstance(found, ed25519.Ed25519PrivateKey):
        raise InputError(
            "is no private Ed25519 key without a password; make one with openssl genpkey -algorithm ed25519",
            file=os.fspath(key),
        )
    return found


def _public(key: KeyPath) -> Any:
    serialization, ed25519 = _cryptography()
    content = _content(key)
    try:
        found = serialization.load_pem_public_key(content)
    except ValueError:
        found = None
    if not isinstance(found, ed25519.Ed25519PublicKey):
        raise InputError(
            "is no public Ed25519 key; make one with openssl pkey -in PRIVATE -pubout", file=os.fspath(key)
        )
    return found


def _content(key: KeyPath) -> bytes:
    try:
        with open(key, "rb") as stream:
            return stream.read(_LARGEST_KEY)
    except OSError as problem:
        raise InputError(f"the key cannot be read: {problem.strerror}", file=os.fspath(key)) from None


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise InputError("signatures need the package cryptography: pip install sigmastar[sign]") from None
    return serialization, ed25519
