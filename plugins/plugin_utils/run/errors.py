# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a run cannot be opened or continued."""

from __future__ import annotations

import typing as t

from ..text.control_characters import printable
from ..text.folded_reasons import fold_reasons


class Refused(Exception):
    """A run that must not start; ``reasons`` are whole sentences, those that differ only in names and numbers folded.

    names: what else than numbers and quoted values such sentences may differ in.
    """

    def __init__(self, reasons: t.Sequence[str], names: t.Iterable[str] = ()) -> None:
        # They quote an inventory and a wiring plan; a line break in a name must not make a line of its own.
        self.reasons = fold_reasons([printable(reason) for reason in reasons], names)
        super().__init__("; ".join(self.reasons))


class RunError(Exception):
    """A run that cannot be opened or found; its text is the whole message."""
