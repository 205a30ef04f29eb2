# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What infiniband-diags print of a simulated fabric, at any of its hosts."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass, replace

from ..model import Pod, Port, Rail, Switch
from .nic import guid

GENERATIONS = {14.0625: "FDR", 25.78125: "EDR", 53.125: "HDR", 106.25: "NDR", 212.5: "XDR"}
COUNTERS = (
    "SymbolErrorCounter",
    "LinkErrorRecoveryCounter",
    "LinkDownedCounter",
    "PortRcvErrors",
    "PortRcvRemotePhysicalErrors",
    "PortRcvSwitchRelayErrors",
    "PortXmitDiscards",
    "PortXmitWait",
)
MODEL = "MQM9700"
BYTES_A_TICK = 1 << 20


@dataclass(frozen=True)
class End:
    """One port of the fabric: its node's GUID and description, its own GUID, LID and number, and the model's part that is it."""

    guid: str
    port_guid: str
    name: str
    lid: int
    number: int
    part: Rail | Port

    @property
    def node(self) -> str:
        """The name by which its node is known: a switch's own, or host and device."""
        return self.name.removeprefix("MF0;").partition(":")[0]


class Fabric:
    """The fabric's ports, and who is at the other end of each."""

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.adapters: list[End] = []
        self.by_name: dict[str, End] = {}
        for host in pod.hosts.values():
            for rail in host.rails:
                own = guid(rail.mac)
                known = f"{host.name} {rail.device}"
                end = End(own, own, rail.node_description or known, 100 + len(self.adapters), 1, rail)
                self.adapters.append(end)
                if rail.state == "Active":
                    self.by_name[known] = end
        self.switches: dict[str, tuple[End, list[End]]] = {}
        for number, switch in enumerate(pod.switches.values(), 1):
            if not switch.unreachable:
                self.switches[switch.name] = self._switch(switch, number)
        for number, (description, place) in enumerate(pod.outside.items(), 1):
            self._outside(description, *place.split(), number)
        self.by_name |= {f"{name} {port.number}": port for name, (_node, ports) in self.switches.items() for port in ports}

    def _switch(self, switch: Switch, number: int) -> tuple[End, list[End]]:
        own = f"0x2c5eab0300b8{number:04x}"
        description = f"MF0;{switch.name}:{MODEL}/U1"
        ports = [End(own, own, description, number, int(port.name), port) for port in switch.ports if port.listed]
        return End(own, own, description, number, 0, ports[0].part), ports

    def _outside(self, description: str, switch: str, port: str, number: int) -> None:
        """An adapter that no host of the pod has, at a port that the plan does not use."""
        node, ports = self.switches[switch]
        rail, far = self.adapters[0].part, ports[0].part
        assert isinstance(rail, Rail) and isinstance(far, Port)
        name, _space, device = description.partition(" ")
        own = f"0x9c0591030011{number:04x}"
        adapter = replace(rail, lldp_peer=switch, lldp_port=port, state="Active")
        self.adapters.append(End(own, own, description, 900 + number, 1, adapter))
        self.by_name[description] = self.adapters[-1]
        ports.append(replace(node, number=int(port), part=replace(far, name=port, lldp_peer=name, lldp_port=device, counters={}, grow={})))

    def ends(self) -> t.Iterator[End]:
        """Every port, adapters first."""
        yield from (end for end in self.adapters if end.part.state == "Active")
        for _node, ports in self.switches.values():
            yield from ports

    def peer(self, end: End) -> End | None:
        """The port at the other end; None where nothing is, or nothing answers."""
        return self.by_name.get(f"{end.part.lldp_peer} {end.part.lldp_port}")

    def up(self, end: End) -> bool:
        """Whether there is a link: both ends agree that there is."""
        part, peer = end.part, self.peer(end)
        alive = part.state in ("Active", "connected")
        return alive and ((peer is None and part.lldp_peer in self.pod.switches) or (peer is not None and peer.part.state in ("Active", "connected")))

    def rate(self, end: End) -> tuple[int, float]:
        """Lanes and lane rate that both ends can do."""
        peer = self.peer(end)
        parts = [end.part, *([peer.part] if peer else [])]
        return min(part.lanes for part in parts), min(part.lane_gbit_s for part in parts)


def iblinkinfo(pod: Pod) -> str:
    """``iblinkinfo -l``."""
    fabric = Fabric(pod)
    lines = []
    for end in fabric.ends():
        head = f'0x{end.port_guid[2:]:>016} "{end.name:>30}" {end.lid:>6} {end.number:>4}[  ] ==('
        peer, (lanes, rate) = fabric.peer(end), fabric.rate(end)
        if not fabric.up(end):
            word = "Disabled" if end.part.state == "disabled" else " Polling"
            lines.append(f'{head}                Down/{word})==>             [  ] "" ( )')
        elif peer is None:
            lines.append(f'{head} {lanes}X {rate:>13g} Gbps Active/  LinkUp)==>      "Port not available"')
        else:
            far = f'{peer.port_guid} {peer.lid:>6} {peer.number:>4}[  ] "{peer.name}"'
            lines.append(f"{head} {lanes}X {rate:>13g} Gbps Active/  LinkUp)==>  {far} ( )")
    return "\n".join(lines) + "\n"


def ibnetdiscover(pod: Pod) -> str:
    """``ibnetdiscover``."""
    fabric = Fabric(pod)
    lines = ["#", "# Topology file: generated on Mon Jun 15 09:12:44 2026", "#"]
    for node, ports in fabric.switches.values():
        lines += ["", "vendid=0x2c9", "devid=0xd2f2", f"sysimgguid={node.guid}", f"switchguid={node.guid}({node.guid[2:]})"]
        lines.append(f'Switch\t65 "S-{node.guid[2:]}"\t\t# "{node.name}" enhanced port 0 lid {node.lid} lmc 0')
        lines += [_link(fabric, end, "") for end in ports if fabric.up(end) and fabric.peer(end)]
    for end in fabric.adapters:
        if end.part.state == "Active":
            lines += ["", "vendid=0x2c9", "devid=0x1021", f"sysimgguid={end.guid}", f"caguid={end.guid}", f'Ca\t1 "H-{end.guid[2:]}"\t\t# "{end.name}"']
            lines += [_link(fabric, end, f"({end.port_guid[2:]})")] if fabric.up(end) and fabric.peer(end) else []
    return "\n".join(lines) + "\n"


def _link(fabric: Fabric, end: End, own: str) -> str:
    peer, (lanes, rate) = fabric.peer(end), fabric.rate(end)
    assert peer is not None
    kind, far = ("H", f"({peer.port_guid[2:]})") if isinstance(peer.part, Rail) else ("S", "")
    local = f"lid {end.lid} lmc 0 " if own else ""
    return f'[{end.number}]{own}\t"{kind}-{peer.guid[2:]}"[{peer.number}]{far} \t\t# {local}"{peer.name}" lid {peer.lid} {lanes}x{GENERATIONS[rate]}'


def ibqueryerrors(pod: Pod, later: bool, loaded: t.Mapping[tuple[str, str], t.Mapping[str, int]] | None = None) -> str:
    """``ibqueryerrors --threshold-file /dev/null``; what grows has grown when it is asked again.

    loaded: what a load has moved, by switch and port; whoever sends waits for its turn.
    """
    fabric = Fabric(pod)
    blocks: dict[str, list[str]] = {}
    ends = list(fabric.ends())
    asked = [end for end in ends if end.node not in pod.no_counters]
    for end in asked:
        values = {name: end.part.counters.get(name, 0) + (end.part.grow.get(name, 0) if later else 0) for name in COUNTERS}
        if loaded is not None and isinstance(end.part, Port):
            values["PortXmitWait"] += loaded.get((end.node, end.part.name), {}).get("tx_bytes", 0) // BYTES_A_TICK
            values |= {name: values[name] + more for name, more in end.part.grow_loaded.items()}
        result = " ".join(f"[{name} == {value}]" for name, value in values.items() if value)
        if result:
            head = f'Errors for "{end.name}"' if isinstance(end.part, Rail) else f'Errors for {end.guid} "{end.name}"'
            blocks.setdefault(head, []).append(f"   GUID {end.port_guid} port {end.number}: {result}")
    nodes = len({end.node for end in ends})
    lines = [line for head, ports in blocks.items() for line in (head, *ports)]
    lines += ["", f"## Summary: {nodes} nodes checked, {len(blocks)} bad nodes found"]
    lines += [
        f"##          {len(asked)} ports checked, {sum(map(len, blocks.values()))} ports have errors beyond threshold",
        "## Thresholds: ",
        *([f"##          {len(pod.no_counters)} PMA query failures"] if pod.no_counters else []),
        "## Suppressed:",
    ]
    return "\n".join(lines) + "\n"


def ibqueryerrors_beside(pod: Pod) -> str:
    """What ibqueryerrors prints on its standard error of nodes that do not answer."""
    silent = {end.node: end for end in reversed(list(Fabric(pod).ends())) if end.node in pod.no_counters}
    return "".join(f"ibwarn: [4711] query_cap_mask: classportinfo query failed on {end.name}, Lid {end.lid} port {end.number}\n" for end in silent.values())


def sminfo(pod: Pod) -> tuple[str, int]:
    """``sminfo`` and its exit status."""
    if "master" not in pod.managers:
        return "sminfo: iberror: failed: query\n", 255
    return "sminfo: sm lid 1 sm guid 0x2c5eab0300b80001, activity count 4484381 priority 14 state 3 SMINFO_MASTER\n", 0


def saquery(pod: Pod) -> tuple[str, int]:
    """``saquery SMIR`` and its exit status."""
    if "master" not in pod.managers:
        return "", 110
    states = {"master": 3, "standby": 2}
    lines = []
    for number, state in enumerate(pod.managers, 1):
        lines += ["SMInfoRecord dump:", "\t\tRID", f"\t\tLID...................{number}", "\t\tSMInfo dump:"]
        lines += [f"\t\tGUID..................0x2c5eab0300b8{number:04x}", "\t\tSM_Key................0x0000000000000000", "\t\tActCount..............4484381"]
        lines += [f"\t\tPriority..............{15 - number}", f"\t\tSMState...............{states[state]}"]
    return "\n".join(lines) + "\n", 0


def ibdiagnet(pod: Pod) -> str:
    """``ibdiagnet``, its summary."""
    lines = ["Fabric Summary", "", f"IB Switches             : {len(pod.switches)}", "", "---------------------------------------------", "Summary"]
    lines += ["-I- Stage                     Warnings   Errors     Comment"]
    lines += [f"-I- {stage:<26}0          {errors}" for stage, errors in pod.diagnosed.items()]
    return "\n".join([*lines, "", "-I- You can find detailed errors/warnings in: /var/tmp/ibdiagnet2/ibdiagnet2.log"]) + "\n"


def tables(pod: Pod, table: str) -> str:
    """What ``fabric_tables`` prints of the files of ibdiagnet."""
    fabric = Fabric(pod)
    if table == "routing":
        switches = [(node.guid, pod.switches[name].adaptive_routing) for name, (node, _ports) in fabric.switches.items()]
        rows = [{"NodeGUID": own, "e": str(int(enabled))} for own, enabled in switches if enabled is not None]
    elif table == "links":
        rows = [{"#IB": str(end.number), "GUID": end.guid, "Sta": "ACT", "Raw BER": _raw(end.part)} for end in fabric.ends() if fabric.up(end)]
    elif table == "media":
        rows = [{"NodeGuid": end.guid, "PortNum": str(end.number), **_module(end.part)} for end in fabric.ends() if fabric.up(end)]
    else:
        rows = [{"NodeGuid": end.guid, "PortNum": str(end.number), "Temperature": _warmth(end.part)} for end in fabric.ends() if fabric.up(end)]
    return json.dumps({"rows": rows}) + "\n"


def _raw(part: Rail | Port) -> str:
    return f"{part.pre_fec_ber:.1e}" if isinstance(part, Port) else "1.5e-254"


def _module(part: Rail | Port) -> dict[str, str]:
    """The technology of a module, and its length where it is a cable in one piece."""
    technology = {"dac": "Copper cable unequalized", "aec": "Copper cable, linear active equalizers"}.get(part.medium, "850 nm VCSEL")
    return {"TypeDesc": technology, "LengthCopperOrActive": "N/A" if part.medium == "optic" else f"{part.length_m:g} m"}


def _warmth(part: Rail | Port) -> str:
    return f"{part.module_temperature_c:.0f}C" if isinstance(part, Port) and part.medium == "optic" else "N/A"
