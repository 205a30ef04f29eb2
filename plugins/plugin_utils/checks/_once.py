# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is computed from the rows of all nodes once, and not again for each node that is judged by it."""

from __future__ import annotations

import functools
import typing as t
from types import MappingProxyType

from ..readings.rows import Peers

Result = t.TypeVar("Result")
# Where a check is asked of a group alone; one object, so that what is computed of it is kept.
NO_PEERS: Peers = MappingProxyType({})


def once_for_all_nodes(compute: t.Callable[..., Result]) -> t.Callable[..., Result]:
    """Keep the last result of a function of one or more ``<reading>_of_peers``: every node of a layer is judged with the same mappings.

    Nobody changes these mappings, nor the result.
    """
    last: list[tuple[tuple[Peers, ...], Result]] = []

    @functools.wraps(compute)
    def kept(*of_peers: Peers) -> Result:
        if not last or len(last[0][0]) != len(of_peers) or any(one is not other for one, other in zip(last[0][0], of_peers)):
            last[:] = [(of_peers, compute(*of_peers))]
        return last[0][1]

    return kept
