# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a load has no result, where a check knows more than that a reading is missing."""

from __future__ import annotations

from . import CannotTell, NotMeasured

# The same words in each check of such a host: the report shows them once.
NO_RATES = "no run gave a rate on this host"


# Cause and fix of a finding that quotes what ended a run.
RUN_ENDED = (
    "The run did not start, or ended before it measured anything; what was got is the message of its program or launcher.",
    "Fix the error named there; else read the evidence of load_jobs; then run the layer again.",
)
# Cause and fix where no run had a result for a check, without words of its own.
NO_RESULT = (
    "No run that this check judges had a result here: the other findings of this layer name what ended the runs.",
    "Fix the error named there; else read the evidence of load_jobs; then run the layer again.",
)


def no_result(words: str) -> CannotTell:
    """What a check raises where no run that it judges measured anything, which another check of the layer reports."""
    return CannotTell(words, *NO_RESULT)


def not_measured(words: str) -> CannotTell:
    """What a check raises where the load did not start on the host, or ended before it measured anything."""
    return NotMeasured(words)


def too_short(words: str) -> CannotTell:
    """What a check raises where a load ran, and reported too little to judge by."""
    return CannotTell(
        words, "The run was too short to judge by, or ended early.", "Let it run for longer (its steps or seconds are expectations), then run the layer again."
    )
