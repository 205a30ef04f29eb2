# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tools change on a simulated host, and what a reset and a boot make of it."""

from __future__ import annotations

import configparser
import re
import shlex
import typing as t
from dataclasses import dataclass
from pathlib import Path

from .model import Host, Rail

WORD = re.compile(r"^(.*)\((\d+)\)$")
UNITS = "etc/systemd/system"
SWITCH = re.compile(r"echo ([01]) >/sys/class/net/(\S+?)/ecn/roce_(np|rp)/enable/(\d)")


@dataclass
class Said:
    """What a tool prints and how it ends."""

    stdout: str = ""
    stderr: str = ""
    rc: int = 0


def _rail(host: Host, name: str) -> Rail | None:
    return next((rail for rail in host.rails if name in (rail.pci, rail.device, rail.netdev)), None)


def _spelled(current: str, value: str) -> str:
    """A value as the firmware writes it: a word with its number where the setting has words."""
    if WORD.match(current) is None or WORD.match(value):
        return value
    words = {"1": "True", "0": "False", "true": "True", "false": "False"}
    if current.startswith(("True", "False")):
        return f"{words[value.lower()]}({int(words[value.lower()] == 'True')})"
    return f"{value}({value})" if value.isdigit() else value


def mlxconfig(host: Host, arguments: list[str], _root: Path) -> Said:
    """``mlxconfig -d PCI -y set NAME=VALUE …``: the next boot's value changes, the current one does not."""
    rail = _rail(host, arguments[1]) if arguments[:1] == ["-d"] and len(arguments) > 4 else None
    if rail is None or arguments[2:4] != ["-y", "set"]:
        return Said(f"-E- Failed to open the device {arguments[1:2]}\n", rc=3)
    pairs = dict(pair.split("=", 1) for pair in arguments[4:])
    unknown = [name for name in pairs if name not in rail.settings]
    if unknown:
        return Said(f"-E- The Device doesn't support {unknown[0]} parameter\n", rc=3)
    lines = ["", "Device #1:", "----------", "", "Device type:        ConnectX7", f"Device:             {rail.pci}", ""]
    lines.append(f"{'Configurations:':<48}{'Next Boot':>20}{'New':>20}")
    for name, value in pairs.items():
        was = rail.next_boot.get(name, rail.settings[name])
        rail.next_boot[name] = _spelled(rail.settings[name], value)
        lines.append(f"        {name:<40}{was:>20}{rail.next_boot[name]:>20}")
    rail.next_boot = {name: value for name, value in rail.next_boot.items() if value != rail.settings[name]}
    return Said(
        "\n".join([*lines, "", " Apply new Configuration? (y/n) [n] : y", "Applying... Done!"]) + "\n-I- Please reboot machine to load new configurations.\n"
    )


def mlxfwreset(host: Host, arguments: list[str], root: Path) -> Said:
    """``mlxfwreset -d PCI -y reset``: the NIC takes up its settings, and its driver starts anew."""
    rail = _rail(host, arguments[1]) if arguments[:1] == ["-d"] else None
    if rail is None or arguments[2:] != ["-y", "reset"]:
        return Said(stderr="-E- Failed to open device\n", rc=1)
    _started(host, rail, root)
    lines = ["", f"The reset level for device, {rail.pci} is:", "", "3: Driver restart and PCI reset", "Continue with reset?[y/N] y"]
    lines += [f"-I- {step:<40}-Done" for step in ("Sending Reset Command To Fw", "Stopping Driver", "Resetting PCI", "Starting Driver")]
    return Said("\n".join([*lines, "-I- FW was loaded successfully."]) + "\n")


def _started(host: Host, rail: Rail, root: Path) -> None:
    """A NIC's driver starts: firmware settings become current, running ones fall back, and systemd starts what wants the netdev."""
    rail.settings |= rail.next_boot
    rail.next_boot = {}
    mask = int(rail.settings["ROCE_CC_PRIO_MASK_P1"])
    served = [priority for priority in range(8) if mask >> priority & 1]
    rail.trust, rail.pfc, rail.dscp_moved, rail.pause, rail.dcqcn_np, rail.dcqcn_rp = "pcp", [], {}, False, list(served), list(served)
    for unit in sorted((root / UNITS / f"sys-subsystem-net-devices-{rail.netdev}.device.wants").glob("*.service")):
        template = (root / str(unit.readlink()).lstrip("/")).read_text(encoding="utf-8")
        for command in re.findall(r"^ExecStart=(.*)$", template, re.MULTILINE):
            _executed(host, command.replace("%I", rail.netdev), root)


def _executed(host: Host, command: str, root: Path) -> None:
    """A unit's command."""
    switch = SWITCH.search(command)
    if switch:
        value, netdev, role, priority = switch.groups()
        rail = _rail(host, netdev)
        assert rail is not None, command
        enabled = getattr(rail, f"dcqcn_{role}")
        setattr(rail, f"dcqcn_{role}", sorted({*enabled, int(priority)} if value == "1" else {*enabled} - {int(priority)}))
        return
    program, *arguments = shlex.split(command)
    output = TOOLS[Path(program).name](host, arguments, root)
    assert output.rc == 0, output


def mlnx_qos(host: Host, arguments: list[str], _root: Path) -> Said:
    """``mlnx_qos -i NETDEV`` with ``--trust``, ``--pfc`` or ``--dscp2prio``."""
    rail = _rail(host, arguments[1]) if arguments[:1] == ["-i"] else None
    if rail is None:
        return Said(stderr=f"Cannot find device {' '.join(arguments[1:2])}\n", rc=1)
    for option, value in zip(arguments[2::2], arguments[3::2]):
        if option == "--trust" and value in ("dscp", "pcp"):
            rail.trust = value
        elif option == "--pfc":
            rail.pfc = [priority for priority, on in enumerate(value.split(",")) if on == "1"]
        elif option == "--dscp2prio" and value.startswith("set,"):
            dscp, priority = (int(one) for one in value.split(",")[1:])
            rail.dscp_moved[dscp] = priority
        else:
            return Said(stderr=f"mlnx_qos: error: no such option: {option} {value}\n", rc=2)
    return Said()


def ethtool(host: Host, arguments: list[str], _root: Path) -> Said:
    """``ethtool -A NETDEV rx off tx off``."""
    rail = _rail(host, arguments[1]) if arguments[:1] == ["-A"] else None
    if rail is None or arguments[2:] not in (["rx", "off", "tx", "off"], ["rx", "on", "tx", "on"]):
        return Said(stderr="netlink error: no device matches name\n", rc=75)
    rail.pause = "on" in arguments
    return Said()


def modprobe(host: Host, arguments: list[str], _root: Path) -> Said:
    """``modprobe [-r] MODULE``; nvidia_peermem registers with the RDMA core."""
    name = arguments[-1].replace("-", "_")
    if name not in ("nvidia_peermem",):
        return Said(stderr=f"modprobe: FATAL: Module {name} not found in directory /lib/modules/{host.kernel}\n", rc=1)
    if name in host.refused_modules and arguments[0] != "-r":
        return Said(stderr=f"modprobe: ERROR: could not insert '{name}': {host.refused_modules[name]}\n", rc=1)
    host.modules = [module for module in host.modules if module != name] + ([] if arguments[0] == "-r" else [name])
    host.memory_peer = arguments[0] != "-r"
    return Said()


def systemctl(host: Host, arguments: list[str], root: Path) -> Said:
    """``systemctl daemon-reload`` and ``systemctl restart UNIT``."""
    if arguments == ["daemon-reload"]:
        # ``configparser`` refuses no repeated section of a drop-in, since each is one file.
        for drop_in in sorted((root / UNITS / "slurmd.service.d").glob("*.conf")):
            parser = configparser.ConfigParser(strict=False)
            parser.read_string(drop_in.read_text(encoding="utf-8"))
            host.memlock_running = host.memlock_running or host.memlock
            host.memlock = parser["Service"].get("LimitMEMLOCK", host.memlock)
        return Said()
    if arguments in (["restart", "slurmd.service"], ["restart", "containerd.service"]):
        host.memlock_running = host.memlock if arguments[1] == "slurmd.service" else host.memlock_running
        return Said()
    return Said(stderr=f"Failed to {' '.join(arguments)}: Unit {arguments[-1]} not found.\n", rc=5)


def networkctl(host: Host, arguments: list[str], _root: Path) -> Said:
    """``networkctl reconfigure NETDEV``: the netdev gets its configured addresses, and the RDMA device its GIDs."""
    rail = _rail(host, arguments[-1]) if arguments[:1] == ["reconfigure"] else None
    if rail is None:
        return Said(stderr=f'Interface "{" ".join(arguments[1:])}" not found.\n', rc=1)
    rail.gid_address = rail.address
    return Said()


def boot(host: Host, root: Path) -> None:
    """Every NIC starts, the modules of modules-load.d are loaded, and services start with their limits."""
    for rail in host.rails:
        _started(host, rail, root)
    host.modules, host.memory_peer = [], False
    for module in host.modules_load:
        modprobe(host, [module], root)
    systemctl(host, ["daemon-reload"], root)
    host.memlock_running = host.memlock
    host.uptime_seconds = 60


TOOLS: dict[str, t.Callable[[Host, list[str], Path], Said]] = {
    "mlxconfig": mlxconfig,
    "mlxfwreset": mlxfwreset,
    "mlnx_qos": mlnx_qos,
    "ethtool": ethtool,
    "modprobe": modprobe,
    "systemctl": systemctl,
    "networkctl": networkctl,
}
