# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the lab: each is injected and proved to be in force by a real tool, past all that is tested.

A fault that did not take would otherwise pass as a healthy fabric that was judged right.
"""

from __future__ import annotations

import contextlib
import re
import typing as t
from dataclasses import dataclass

from ..standing import poll
from .lab import Lab
from .shape import Net, healthy

UPLINK = ("leaf01", 33)
ONE_LANE, FDR = "w=1", "e=1"
Missing = t.Callable[[Lab], str | None]


@dataclass(frozen=True)
class Fault:
    """One fault.

    inject: puts it into a fabric that is up, or wires the fabric anew; heal: takes it back where the fabric need not start again.
    missing: what shows that it is not in force; None where it is. during: it comes during the soak. swept: the manager sees it and
    routes the subnet anew; until it is done, what is sent to a LID may arrive nowhere. before: makes what it takes away in the soak.
    """

    inject: t.Callable[[Lab], None]
    missing: Missing
    heal: t.Callable[[Lab], None] | None = None
    during: bool = False
    swept: bool = False
    before: t.Callable[[Lab], None] | None = None

    def prepare(self, lab: Lab, name: str) -> None:
        """Make what it takes away, which a fabric that was started anew has lost, and await that it is there."""
        if self.before is not None:
            self.before(lab)
            poll(60, lambda: f"{name} is in force before its time" if self.missing(lab) is None else None, f"what {name} takes away")

    def force(self, lab: Lab, name: str) -> None:
        """Put it in force, and await that it is."""
        with lab.sweep() if self.swept else contextlib.nullcontext():
            self.inject(lab)
            poll(60, lambda: self.missing(lab), name)

    def end(self, lab: Lab, name: str) -> None:
        """Take it back, and await that the fabric is whole."""
        with lab.sweep() if self.swept else contextlib.nullcontext():
            (self.heal or Lab.up)(lab)
            # The console answers nothing: a fabric looked at before it has heard looks settled, with the fault still in it.
            poll(60, lambda: f"{name} is still in force" if self.missing(lab) is None else None, f"{name} healed")
        poll(60, lab.not_settled, "the healed subnet")


def link(lab: Lab, node: str, port: int) -> str:
    """The line of iblinkinfo of one port; empty where there is none."""
    lines = lab.run("iblinkinfo", "-l").stdout.splitlines()
    return next((line for line in lines if re.match(rf'0x\S+ "\s*{re.escape(node)}"\s+\d+\s+{port}\[', line)), "")


def says(node: str, port: int, pattern: str) -> Missing:
    """A proof that iblinkinfo's line of a port matches."""

    def missing(lab: Lab) -> str | None:
        line = link(lab, node, port)
        return None if re.search(pattern, line) else f"{node} port {port} is {line or 'not there'}"

    return missing


def gone(node: str, of: str) -> Missing:
    """A proof that a node is in no list of a tool, while others are."""

    def missing(lab: Lab) -> str | None:
        listed = lab.run(of).stdout
        return f"{node} is listed" if f'"{node}"' in listed else None if '"' in listed else "nothing is listed"

    return missing


def counts(node: str, port: int, counter: str, value: int) -> Missing:
    """A proof by perfquery of the port's own counter."""

    def missing(lab: Lab) -> str | None:
        lid = re.match(r'0x\S+ ".*?"\s+(\d+)', link(lab, node, port))
        output = lab.run("perfquery", lid[1], str(port)).stdout if lid else ""
        return None if re.search(rf"^{counter}:\.+{value}$", output, re.MULTILINE) else f"no {counter} of {value} in {output[:80]!r}"

    return missing


def unlinked(node: str, port: int | None) -> t.Callable[[Lab], None]:
    """Pull a cable, or all cables of a node."""
    return lambda lab: lab.console(f'Unlink "{node}"' + (f"[{port}]" if port else ""))


def relinked(node: str, port: int | None) -> t.Callable[[Lab], None]:
    """Plug it in again."""
    return lambda lab: lab.console(f'ReLink "{node}"' + (f"[{port}]" if port else ""))


def counted(node: str, port: int, counter: str, value: int) -> t.Callable[[Lab], None]:
    """Set a counter of a port."""
    return lambda lab: lab.console(f'PerformanceSet "{node}"[{port}] PortCounters.{counter}={value}', f"has been set to {value}")


def rewired(change: t.Callable[[Net], None], with_manager: bool = True) -> t.Callable[[Lab], None]:
    """Start the fabric anew with another wiring."""

    def inject(lab: Lab) -> None:
        net = healthy(lab.shape)
        change(net)
        lab.up(net, with_manager)

    return inject


def option(node: str, port: int, value: str) -> t.Callable[[Net], None]:
    """Give a port other limits."""
    return lambda net: net.options.update({(node, port): value})


def swapped(one: tuple[str, int], other: tuple[str, int]) -> t.Callable[[Net], None]:
    """Exchange the cables of two ports."""
    return lambda net: net.swap(one, other)


def without(node: str, port: int) -> t.Callable[[Net], None]:
    """Leave a cable out."""
    return lambda net: net.cables.__setitem__(slice(None), [cable for cable in net.cables if (node, port) not in cable])


def no_answer(lab: Lab) -> str | None:
    """A proof that no manager answers."""
    output = lab.run("sminfo")
    return None if "failed: query" in output.stdout + output.stderr else output.stdout


def silent(node: str) -> Missing:
    """A proof that a switch is in no list, and that the tool met its silence."""

    def missing(lab: Lab) -> str | None:
        output = lab.run("iblinkinfo", "-l")
        return "no query timed out" if "bad status 110" not in output.stderr else gone(node, "ibswitches")(lab)

    return missing


def keys(lab: Lab, node: str) -> str:
    """The first line of the partition keys of an adapter's port."""
    lid = re.match(r'0x\S+ ".*?"\s+(\d+)', link(lab, node, 1))
    return lab.run("smpquery", "pkeys", lid[1], "1").stdout.partition("\n")[0] if lid else ""


def members(limited: str | None = None, foreign: str | None = None) -> t.Callable[[Lab], None]:
    """Start the manager again with an adapter's port as a limited member of the partition, and one as a member of another partition, or with none."""

    def inject(lab: Lab) -> None:
        lab.limited, lab.foreign = ([link(lab, node, 1).split()[0]] if node else [] for node in (limited, foreign))
        lab.stop_manager()
        lab.start_manager()

    return inject


def has_keys(node: str, pattern: str) -> Missing:
    """A proof that the first keys of the port are these."""
    return lambda lab: None if re.match(r"\s*0: " + pattern, output := keys(lab, node)) else f"{node} has {output or 'no keys'}"


FAULTS: dict[str, Fault] = {
    "hca_lost": Fault(unlinked("gpu03 mlx5_2", None), gone("gpu03 mlx5_2", "ibhosts"), relinked("gpu03 mlx5_2", None), swept=True),
    "switch_link_lost": Fault(unlinked(*UPLINK), says(*UPLINK, r"Down/ Polling"), relinked(*UPLINK), swept=True),
    "spine_dead": Fault(lambda lab: lab.console('Error "spine02" 100'), silent("spine02"), lambda lab: lab.console('Error "spine02" 0')),
    "manager_died": Fault(lambda lab: lab.stop_manager(), no_answer, lambda lab: lab.start_manager()),
    "symbol_errors": Fault(
        counted("leaf02", 10, "SymbolErrorCounter", 4211), counts("leaf02", 10, "SymbolErrorCounter", 4211),
        counted("leaf02", 10, "SymbolErrorCounter", 0), during=True,
    ),
    "counter_saturated": Fault(
        counted("leaf05", 2, "PortRcvErrors", 65535), counts("leaf05", 2, "PortRcvErrors", 65535), counted("leaf05", 2, "PortRcvErrors", 0),
    ),
    "counters_reset": Fault(
        counted("leaf06", 4, "SymbolErrorCounter", 0), counts("leaf06", 4, "SymbolErrorCounter", 0),
        counted("leaf06", 4, "SymbolErrorCounter", 7), during=True, before=counted("leaf06", 4, "SymbolErrorCounter", 7),
    ),
    "one_lane": Fault(rewired(option("leaf01", 3, ONE_LANE)), says("leaf01", 3, r"1X\s+53\.125 Gbps Active")),
    "fdr_link": Fault(rewired(option("gpu05 mlx5_4", 1, FDR)), says("gpu05 mlx5_4", 1, r"4X\s+14\.0625 Gbps Active")),
    "cables_swapped": Fault(rewired(swapped(("leaf01", 3), ("leaf01", 4))), says("leaf01", 3, r'"gpu04 mlx5_0"')),
    "wrong_rail": Fault(rewired(swapped(("gpu07 mlx5_0", 1), ("gpu07 mlx5_1", 1))), says("leaf01", 7, r'"gpu07 mlx5_1"')),
    "uplink_removed": Fault(rewired(without("leaf03", 40)), says("leaf03", 40, r"Down/ Polling")),
    "limited_member": Fault(members(limited="gpu01 mlx5_2"), has_keys("gpu01 mlx5_2", "0x7fff "), members()),
    "other_partition": Fault(members(foreign="gpu09 mlx5_3"), has_keys("gpu09 mlx5_3", "0xffff 0x8005 "), members()),
    "no_manager": Fault(rewired(lambda net: None, with_manager=False), no_answer),
}  # fmt: skip


@contextlib.contextmanager
def ready(lab: Lab, name: str) -> t.Iterator[t.Callable[[], None] | None]:
    """A fault in force for as long as the context lasts; gives what puts it in force where it comes during the soak."""
    fault = FAULTS[name]
    fault.prepare(lab, name)
    if not fault.during:
        fault.force(lab, name)
    try:
        yield (lambda: fault.force(lab, name)) if fault.during else None
    finally:
        fault.end(lab, name)
