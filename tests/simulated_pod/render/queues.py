# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What switches print about pauses, marks, drops and bytes: an Arista leaf as JSON, a SONiC spine as tables."""

from __future__ import annotations

import json
import typing as t

from ..model import Port, Switch
from .eos import listed, short
from .sonic import table

QUEUES = range(8)
CNP_DSCP = 48
Value = t.Callable[[Port, str], int]


def at(switch: Switch, later: bool, moved: t.Mapping[tuple[str, str], t.Mapping[str, int]], loads: t.Sequence[str] = ()) -> Value:
    """A port's counter: what it was, what grows by itself, what an incast has moved, and what the loads of some layers have added."""

    def value(port: Port, name: str) -> int:
        own = port.counters.get(name, 0) + (port.grow.get(name, 0) if later else 0) + moved.get((switch.name, port.name), {}).get(name, 0)
        return own + sum(port.grow_in.get(layer, {}).get(name, 0) for layer in loads)

    return value


def eos_pauses(switch: Switch, value: Value) -> str:
    """``show priority-flow-control counters | json``."""
    return _json("interfaceCounters", {port.name: {"rxFrames": value(port, "rx_pfc"), "txFrames": value(port, "tx_pfc")} for port in listed(switch)})


def eos_marks(switch: Switch, value: Value) -> str:
    """``show qos interfaces ecn counters queue | json``."""
    counts = switch.thresholds and switch.counts_marks
    marked = {
        port.name: {"queueCounters": {str(queue): str(value(port, "marked")) if counts and queue == switch.priority else "-" for queue in QUEUES}}
        for port in listed(switch)
    }
    return _json("intfQueueCounters", marked)


def eos_discards(switch: Switch, value: Value) -> str:
    """``show interfaces counters discards | json``."""
    return _json("interfaces", {port.name: {"inDiscards": value(port, "rx_drops"), "outDiscards": value(port, "dropped")} for port in listed(switch)})


def eos_bytes(switch: Switch, value: Value) -> str:
    """``show interfaces counters | json``."""
    return _json("interfaces", {port.name: {"inOctets": value(port, "rx_bytes"), "outOctets": value(port, "tx_bytes")} for port in listed(switch)})


def _json(name: str, rows: t.Mapping[str, t.Any]) -> str:
    return json.dumps({name: rows}, indent=4) + "\n"


def eos_lossless(switch: Switch) -> str:
    """``show priority-flow-control``."""
    lines = ["The hardware supports PFC on priorities 0 1 2 3 4 5 6 7", "PFC receive processing is enabled on priorities 0 1 2 3 4 5 6 7", ""]
    lines += ["Global PFC : Enabled", "", "E: PFC Enabled, D: PFC Disabled, A: PFC Active, W: PFC Watchdog Enabled"]
    lines += ["Port               Status  Priorities  Action      Timeout  Recovery        Polling         Note"]
    lines += ["                                                              Interval/Mode   Config/Oper", "-" * 101]
    for port in listed(switch):
        on = "".join(map(str, port.pfc)) if port.peer != "spare" else ""
        lines.append(f"{short(port.name):<18} {f'E A W   {on}' if on else 'D - -'}")
    return "\n".join(lines) + "\n"


def eos_maps(switch: Switch) -> str:
    """``show qos maps``: the map of DSCP, after that of CoS."""
    given = _classes(switch, next(iter(switch.dscp_maps.values())))
    lines = ["   Number of Traffic Classes supported: 8", "   Cos Rewrite: Disabled", "", "   Cos-tc map:", "     cos:  0  1  2  3  4  5  6  7"]
    lines += ["     ----------------------------", "     tc:   1  0  2  3  4  5  6  7", "", "   Dscp-tc map:", "     d1 :  d2 0  1  2  3  4  5  6  7  8  9"]
    lines.append("     --------------------------------------")
    for tens in range(7):
        lines.append(f"      {tens} :     " + "  ".join(str(given.get(dscp, 0)) for dscp in range(10 * tens, min(64, 10 * tens + 10))))
    return "\n".join([*lines, ""]) + "\n"


def eos_thresholds(switch: Switch) -> str:
    """``show running-config section random-detect``."""
    if not switch.thresholds:
        return ""
    thresholds = f"minimum-threshold {switch.ecn_min_bytes} bytes maximum-threshold {switch.ecn_max_bytes} bytes max-mark-probability 100 weight 0"
    lines = ["qos profile ROCE", "   qos trust dscp", "   !", f"   uc-tx-queue {switch.priority}"]
    return "\n".join([*lines, f"      random-detect {'ecn' if switch.marking else 'drop'} {thresholds}"]) + "\n"


def sonic_pauses(switch: Switch, value: Value) -> str:
    """``show pfc counters``."""
    parts = []
    for name, key in (("Port Rx", "rx_pfc"), ("Port Tx", "tx_pfc")):
        rows = [[port.name, *(f"{value(port, key):,}" if queue == switch.priority else "0" for queue in QUEUES)] for port in listed(switch)]
        parts.append(table([name, *(f"PFC{queue}" for queue in QUEUES)], rows))
    return "\n".join(parts)


def sonic_watchdog(switch: Switch, value: Value) -> str:
    """``pfcwd show stats``."""
    header = ["QUEUE", "STATUS", "STORM DETECTED/RESTORED", "TX OK/DROP", "RX OK/DROP", "TX LAST OK/DROP", "RX LAST OK/DROP"]
    rows = []
    for port in switch.ports:
        storms, dropped = value(port, "storms"), value(port, "watchdog_dropped")
        rows.append([f"{port.name}:{switch.priority}", "operational", f"{storms}/{storms}", f"100/{dropped}", "100/0", "0/0", "0/0"])
    return table(header, rows)


def sonic_marks(switch: Switch, value: Value) -> str:
    """``show queue wredcounters``."""
    header = ["Port", "TxQ", "WredDrp/pkts", "WredDrp/bytes", "EcnMarked/pkts", "EcnMarked/bytes"]
    parts = []
    for port in listed(switch):
        counts = [(value(port, "wred"), value(port, "marked")) if queue == switch.priority else (0, 0) for queue in QUEUES]
        rows = [
            [port.name, f"UC{queue}", f"{dropped:,}", f"{dropped * 4170:,}", f"{marked:,}", f"{marked * 4170:,}"]
            for queue, (dropped, marked) in enumerate(counts)
        ]
        parts.append(table(header, rows))
    return "\n".join(parts)


def sonic_queues(switch: Switch, value: Value) -> str:
    """``show queue counters``."""
    header = ["Port", "TxQ", "Counter/pkts", "Counter/bytes", "Drop/pkts", "Drop/bytes"]
    parts = []
    for port in listed(switch):
        rows = []
        for queue in QUEUES:
            sent = value(port, "tx_bytes") if queue == switch.priority else 0
            dropped = value(port, "dropped" if queue == switch.priority else f"dropped_{queue}")
            rows.append([port.name, f"UC{queue}", f"{sent // 4170:,}", f"{sent:,}", f"{dropped:,}", f"{dropped * 4170:,}"])
        parts.append(table(header, rows))
    return "\n".join(parts)


def sonic_groups(switch: Switch, value: Value) -> str:
    """``show priority-group drop counters``."""
    rows = [[port.name, *(value(port, "dropped_in" if group == switch.priority else f"dropped_in_{group}") for group in QUEUES)] for port in listed(switch)]
    return "Ingress PG dropped packets:\n" + table(["Port", *(f"PG{group}" for group in QUEUES)], rows)


def sonic_lossless(switch: Switch) -> str:
    """``show pfc priority``."""
    rows = [[port.name, ",".join(map(str, port.pfc)) if port.peer != "spare" else ""] for port in listed(switch)]
    return table(["Interface", "Lossless priorities"], rows, left=(0, 1))


def sonic_maps(switch: Switch) -> str:
    """``sonic-cfggen -d --var-json DSCP_TO_TC_MAP``."""
    maps = {name: {str(dscp): str(given) for dscp, given in _classes(switch, one).items()} for name, one in switch.dscp_maps.items()}
    return json.dumps(maps, indent=4) + "\n"


def _classes(switch: Switch, given: t.Mapping[int, int]) -> dict[int, int]:
    return {**given, **({} if switch.cnp_class is None else {CNP_DSCP: switch.cnp_class})}


def sonic_lengths(switch: Switch) -> str:
    """``sonic-cfggen -d --var-json CABLE_LENGTH``."""
    lengths = {port.name: f"{port.length_m if port.headroom_m is None else port.headroom_m:g}m" for port in listed(switch) if port.peer != "spare"}
    spares = {port.name: "0m" for port in listed(switch) if port.peer == "spare"}
    return json.dumps({"AZURE": {**lengths, **spares}}, indent=4) + "\n"


def sonic_thresholds(switch: Switch) -> str:
    """``show ecn``."""
    word = "ecn_all" if switch.marking else "ecn_none"
    lines = [f"red_max_threshold        {switch.ecn_max_bytes}", "wred_green_enable        true"]
    lines += [f"ecn                      {word}"] if switch.ecn_mode_told else []
    lines += [f"green_min_threshold      {switch.ecn_min_bytes}", f"green_max_threshold      {switch.ecn_max_bytes}", "green_drop_probability   100"]
    rule = "-----------------------  -------"
    return "\n".join(["Profile: AZURE_LOSSLESS", rule, *lines, rule]) + "\n\n"
