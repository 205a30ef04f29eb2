# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks a log has lines of, and on which hosts these are, as far as its lines tell: a launcher prints those of other hosts, too."""

from __future__ import annotations

import re
import typing as t

from .host_names import HostNames
from .line_labels import OF_A_RANK, named_process
from .site_log import Said

# NCCL begins its lines with the host, and says of each communicator of all ranks which of them is there; torchrun has both in its summary.
NAMED = re.compile(
    r"(?m)^(?:\[\w*rank\s?\d+\]: ?)?(?P<host>[A-Za-z][\w.-]*):\d+:\d+ \[\d+\] NCCL INFO (?:.*\s)?rank (?P<rank>\d+) n[Rr]anks\b|"
    r"^\s*host\s*:\s*(?P<of>\S+)\s*\n\s*rank\s*:\s*(?P<first>\d+) \(local_rank: \d+\)"
)
# A job of more ranks on one host's output is told by these as well.
MOST = 4096


def speakers(*logs: t.Sequence[Said]) -> list[str]:
    """The ranks that lines of a log are of, each as its number, with ``=HOST`` behind it where a line names the host that it is on."""
    found: dict[int, str] = {}
    for lines in logs:
        for one in lines:
            if one.rank is not None:
                found[one.rank] = one.host or named_process(OF_A_RANK.sub("", one.line).lstrip()) or found.get(one.rank, "")
        for named in NAMED.finditer("".join(f"{one.line}\n" for one in lines)):
            found[int(named["rank"] or named["first"])] = named["host"] or named["of"]
    return [f"{rank}={host}" if host else str(rank) for rank, host in sorted(found.items())[:MOST]]


def homes(said: t.Mapping[str, t.Sequence[str]], hosts: HostNames, gpus: int) -> dict[int, str]:
    """The host of each block of ranks, as many as a host has GPUs, by the block's number; none of a block of which two are told.

    said: ``speakers`` of each host's log; hosts: those of the job. A log in which all ranks are of one block is of its own host.
    """
    found: dict[int, set[str]] = {}
    for printer, some in said.items():
        told = dict(_of(one) for one in some)
        blocks = {rank // gpus for rank in told}
        for rank, host in told.items():
            home = hosts.host(host) if host else printer if len(blocks) == 1 else None
            if home is not None:
                found.setdefault(rank // gpus, set()).add(home)
    return {block: next(iter(of)) for block, of in found.items() if len(of) == 1}


def of_several_hosts(said: t.Sequence[str], gpus: int) -> bool:
    """Whether a log has lines of ranks of more than one host; said: its ``speakers``."""
    return len({_of(one)[0] // gpus for one in said}) > 1


def _of(one: str) -> tuple[int, str]:
    rank, _equals, host = one.partition("=")
    return int(rank), host
