# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose error came first where ranks of several hosts ended a run with errors."""

from __future__ import annotations

import typing as t

# The clocks of hosts agree to less than that.
CLOCKS_SECONDS = 1.0


def times_by_host(ranks: t.Mapping[str, t.Iterable[t.Mapping[str, t.Any]]]) -> dict[str, float]:
    """When the first rank of each host ended with an error, in seconds since the epoch, by the host's own clock; ranks: those of one run by host."""
    found: dict[str, float] = {}
    for host, rows in ranks.items():
        # Rows of an older version have no time.
        times = [at for row in rows if row["error"] and (at := row.get("error_at")) is not None]
        found |= {host: min(times)} if times else {}
    return found


class Order(t.NamedTuple):
    """In words, whether the errors of a host came first in their run or after those of which other host; later: that they came after."""

    words: str = ""
    later: bool = False


def order_of_error(host: str, times: t.Mapping[str, float]) -> Order:
    """When the errors of a host came among those of its run; without words where that is not known.

    times: what ``times_by_host`` returned of the run.
    """
    others = sorted((at, name) for name, at in times.items() if name != host)
    if host not in times or not others:
        return Order()
    at, name = others[0]
    after = times[host] - at
    if after > CLOCKS_SECONDS:
        return Order(f" ({after:.0f} s after the first error of {name})", later=True)
    return Order(f" (the first error of the run, {-after:.0f} s before that of {name})" if -after > CLOCKS_SECONDS else "")
