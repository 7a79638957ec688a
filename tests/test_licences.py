"""What `make lint` says about known weaknesses."""

from __future__ import annotations

import json

from licences import weaknesses


def test_weaknesses_are_named() -> None:
    whole = {"name": "one", "version": "1.0", "vulns": []}
    weak = {"name": "two", "version": "2.0", "vulns": [{"id": "CVE-1"}, {"id": "CVE-2"}]}
    found, sentence = weaknesses(json.dumps({"dependencies": [whole, weak]}))
    assert found == ["two 2.0 CVE-1", "two 2.0 CVE-2"]
    assert sentence == "pip-audit looked up 2 of 2 packages: 2 known weaknesses"


def test_packages_that_were_skipped_are_not_called_sound() -> None:
    skipped = {"name": "one", "skip_reason": "not found"}
    assert weaknesses(json.dumps({"dependencies": [skipped]})) == (
        [],
        "pip-audit looked up 0 of 1 packages: 0 known weaknesses",
    )


def test_an_index_out_of_reach_is_told() -> None:
    assert weaknesses("")[1] == "pip-audit could not reach its index: known weaknesses are not looked up"
