# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host may be loaded, as the checks of every layer under load ask it."""

from __future__ import annotations

import typing as t

from ..busy import busy
from . import CannotTell, Finding
from ._ports import Rows


def not_idle(gpus: Rows | None, before: Rows, idle: Rows, gpus_per_host: int, seconds: int, most_gbit_s: float) -> t.Iterator[Finding]:
    """Whose work a host does, as a finding.

    gpus: None where the host does not tell; before, idle: the rows of ``nic_counters``, read ``seconds`` apart.
    Raises CannotTell where nobody says whether its GPUs work.
    """
    if gpus_per_host and gpus is None:
        raise CannotTell("its GPUs do not tell whether they run processes")
    words = busy(gpus or [], before, idle, seconds, most_gbit_s)
    if words is not None:
        yield Finding("the host", "nobody's work on it", words)
