# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fuzz every parser by coverage: whatever the text, typed rows or the one error, in bounded time.

``python -m tests.fuzz.parsers CORPUS -max_total_time=60`` goes on with the corpus in a directory, which begins as the recordings; what
breaks a parser is kept there as ``crash-*``. The first two bytes of an input choose the reading and platform.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["ansible_collections.gpufabric.pyramid.plugins.plugin_utils", "textfsm"]):
    from tests.unit.readings import test_properties as properties

PAIRS = properties.PAIRS


def seed(corpus: Path) -> None:
    """Put every recording into the corpus."""
    corpus.mkdir(parents=True, exist_ok=True)
    for number, (name, platform) in enumerate(PAIRS):
        for which, text in enumerate(properties.texts(name, platform)):
            (corpus / f"{platform}-{name}-{which}").write_bytes(number.to_bytes(2, "big") + text.encode("utf-8"))


def try_one(data: bytes) -> None:
    """Parse one input; an exception is a finding."""
    name, platform = PAIRS[int.from_bytes(data[:2], "big") % len(PAIRS)]
    properties.holds(name, platform, data[2:].decode("utf-8", "replace"))


def main() -> None:
    """Fuzz until libFuzzer's own options end it."""
    corpus = Path(next(one for one in sys.argv[1:] if not one.startswith("-")))
    seed(corpus)
    atheris.Setup([*sys.argv, f"-artifact_prefix={corpus}/", "-max_len=20000", "-timeout=20", "-verbosity=0"], try_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
