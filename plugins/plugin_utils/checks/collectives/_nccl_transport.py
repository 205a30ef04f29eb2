# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NCCL's own log says of how its data went, and why that is slow."""

from __future__ import annotations

import typing as t

from ...loads.collective_runs import NODE_NICS, items_of_kind
from ...loads.named_parts import named_nic, nic_number
from ...readings.rows import Rows
from .. import Finding
from ..place import Place, at_device

# What the runs themselves set; any other variable that the pod does not list makes a run measure something else.
OWN = {"NCCL_COLLNET_ENABLE", "NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS", "NCCL_IB_TC", "NCCL_MNNVL_ENABLE"}
# And those of a host's run over its own NICs, which concern no other run.
OWN_OVER_NICS = {"NCCL_NVLS_ENABLE", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"}
# What says how ranks find each other and what they write, and changes no rate.
WITHOUT_EFFECT = {"NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY", "NCCL_CONF_FILE", "NCCL_HOSTID", "NCCL_ASYNC_ERROR_HANDLING", "NCCL_BLOCKING_WAIT"}
# Whose variables a pod lists; those of the libraries below them may differ from pod to pod and say something only where a run fails.
LIBRARIES = ("NCCL_", "RCCL_")
# What of NCCL's log must be the same on all hosts of a run, by its event, as it is called.
SET_UP = {"version": "NCCL", "network": "the network", "plugin": "the network's plugin"}
NO_RDMA_CAUSE = (
    "NCCL found no RDMA device that it may use, and went over TCP: no active port, no /dev/infiniband or too low a memlock limit for the job, "
    "NCCL_IB_DISABLE or NCCL_IB_HCA, an image without libibverbs or its driver, or a network plugin that did not load."
)
NO_RDMA_FIX = (
    "Read the NET lines of NCCL's log, then check ibv_devinfo and ulimit -l as the job's user in its container, which needs /dev/infiniband and libibverbs, "
    "and NCCL_IB_* in the environment and in nccl.conf."
)
STAGED_CAUSE = (
    "NCCL copies its data through the host's memory, not from GPU to NIC. Where gpu_write_bw of layer 4 passes, host and NICs are in order, and the job's "
    "image or container, a variable or NCCL's version is the reason; else nvidia_peermem or DMA-BUF is missing."
)
STAGED_FIX = (
    "See gpudirect_used; compare NCCL's version, NCCL_NET_GDR_LEVEL and NCCL_TOPO_FILE with a good host's or image's, and what the container mounts of /sys."
)
UNUSED_CAUSE = "NCCL leaves rails out, so that several GPUs share the link of one: NCCL_IB_HCA, NCCL's view of the machine, or NICs that the container lacks."
UNUSED_FIX = "See all_rails_used; compare NCCL's list of NICs with pod_rails, then NCCL_IB_HCA, NCCL_TOPO_FILE and the devices inside the container."


def unlisted(log: Rows, jobs: Rows, listed: t.Mapping[str, t.Any]) -> list[tuple[str, str]]:
    """The variables, with their values, that NCCL found and the pod does not list; jobs: of the host that the log is of."""
    over_nics = items_of_kind(jobs, NODE_NICS)
    found = {(row["name"], row["value"]) for row in log if row["event"] == "variable" and not (row["item"] in over_nics and row["name"] in OWN_OVER_NICS)}
    own = {(str(name), str(value)) for name, value in found if name not in OWN and str(name).startswith(LIBRARIES)}
    return sorted((name, value) for name, value in own if str(listed.get(name)) != value)


def forced(log: Rows | None, jobs: Rows, listed: t.Mapping[str, t.Any]) -> list[str]:
    """Those of them that may change a rate, as ``NAME=VALUE``."""
    return [f"{name}={value}" for name, value in unlisted(log or [], jobs, listed) if name not in WITHOUT_EFFECT]


def restored(variables: t.Sequence[str], changed: t.Container[str]) -> list[str]:
    """Of some variables, as ``NAME=VALUE``, those which a probe changed that restored the rate; all of them where none did."""
    return [one for one in variables if one.partition("=")[0] in changed] or list(variables)


def unlike_others(host: str, logs: t.Mapping[str, Rows]) -> list[str]:
    """In words what NCCL of a host has otherwise than more than half of the other hosts; logs: the rows of nccl_log by host."""
    mine = _set_up(logs.get(host, []))
    others = [_set_up(log) for other, log in logs.items() if other != host and log]
    found = []
    for what in sorted({*mine, *(name for one in others for name in one)} if mine else ()):
        values = [one.get(what, "none") for one in others]
        usual = max(values, key=values.count, default="none")
        if 2 * values.count(usual) > len(values) and mine.get(what, "none") != usual:
            found.append(f"{what} {mine.get(what, 'none')}, of the others {usual}")
    return found


def _set_up(log: Rows) -> dict[str, str]:
    """What NCCL of a host runs with: its version, its network and that one's plugin, and each variable that may change a run."""
    found: dict[str, set[str]] = {}
    for row in log:
        if row["event"] in SET_UP:
            found.setdefault(SET_UP[row["event"]], set()).add(str(row["value"]))
        elif row["event"] == "variable" and row["name"] not in OWN | OWN_OVER_NICS | WITHOUT_EFFECT:
            found.setdefault(str(row["name"]), set()).add(str(row["value"]))
    return {what: ", ".join(sorted(values)) for what, values in found.items()}


def of_another_setting(where: Place, expected: str, actual: str, variables: t.Sequence[str]) -> Finding:
    """A low rate that was measured with variables that the pod does not list: of the pod's own setting it proves nothing."""
    names = ", ".join(variables)
    cause = f"{names} is set on the host (environment, image or nccl.conf) and not listed in pod_nccl_environment: the rate is that of this setting."
    fix = "Remove it from the environment, the image and nccl.conf (/etc/nccl.conf, ~/.nccl.conf), or list it where it is meant; then run layer 5 again."
    return Finding(where, expected, f"{names} is set: {actual}", "unknown", cause=cause, fix=fix)


def network_channels(log: Rows) -> Rows:
    """The channels that leave the host."""
    return [row for row in log if row["event"] == "channel" and str(row["name"]).startswith("NET/")]


def by_socket(log: Rows) -> bool:
    """Whether channels that leave the host go over TCP."""
    return any(str(row["name"]).startswith("NET/Socket") for row in network_channels(log))


def devices(log: Rows) -> list[str]:
    """The NICs in use, in NCCL's order, by which channels number them."""
    return list(dict.fromkeys(str(row["device"]) for row in log if row["event"] == "device"))


def _ports_of_numbers(log: Rows) -> dict[int, set[str]]:
    """The devices behind each number of a NIC: one, or the ports that NCCL merges into one NIC (NCCL_NET_MERGE_LEVEL)."""
    names = devices(log)
    found: dict[int, set[str]] = {}
    number: int | None = None
    for row in log:
        if row["event"] == "device":
            # Releases that number nothing list the NICs in order.
            number = row["nic"] if row["nic"] is not None else number
            found.setdefault(names.index(str(row["device"])) if number is None else number, set()).add(str(row["device"]))
        elif row["event"] == "speed" and row["nic"] is not None:
            found.setdefault(row["nic"], set()).update(str(row["device"]).split("+"))
    return found


def place_of_warning(text: str, log: Rows) -> Place:
    """The NIC that a warning names, by its name or by its number in NCCL's own list, else NCCL."""
    number = nic_number(text)
    ports = _ports_of_numbers(log).get(number, set()) if number is not None else set()
    device = named_nic(text) or (next(iter(ports)) if len(ports) == 1 else None)
    return at_device(device, "in NCCL's log") if device else Place("NCCL")


def used(log: Rows) -> set[str]:
    """The NICs that a channel goes over."""
    ports = _ports_of_numbers(log)
    return {name for row in network_channels(log) for name in ports.get(row["nic"], ())}


def staged(log: Rows) -> Rows:
    """The channels that leave the host and are copied through its memory."""
    return [row for row in network_channels(log) if not row["gdr"]]


def not_peer(log: Rows) -> Rows:
    """The channels within the host that do not go from GPU to GPU."""
    return [row for row in log if row["event"] == "channel" and not str(row["name"]).startswith(("NET/", "P2P"))]


def cause_of_rate(log: Rows, rails: t.Sequence[str]) -> tuple[str, str] | None:
    """Cause and fix of the way that data went, as NCCL's log has it, of what slows a run most; None where it went as it should."""
    if by_socket(log):
        return NO_RDMA_CAUSE, NO_RDMA_FIX
    if staged(log):
        return STAGED_CAUSE, STAGED_FIX
    return (UNUSED_CAUSE, UNUSED_FIX) if network_channels(log) and set(rails) - used(log) else None


def why_slow(log: Rows | None, rails: t.Sequence[str], traffic_class: int | None) -> list[str]:
    """The reasons, in words, that NCCL's log gives for a low rate; none where it gives none.

    rails: the devices that should carry it, none where the host ran alone; traffic_class: what the pod's traffic must have, or None.
    """
    if not log:
        return ["NCCL's log was not read"]
    reasons = []
    out = network_channels(log)
    if by_socket(log):
        reasons.append("NCCL fell back to TCP sockets")
    elif staged(log):
        reasons.append(f"GPUDirect is off on {len(staged(log))} of {len(out)} channels")
    if out and not by_socket(log) and (unused := [rail for rail in rails if rail not in used(log)]):
        reasons.append(f"{len(rails) - len(unused)} of {len(rails)} rails carry it, not {', '.join(unused)}")
    if not_peer(log):
        reasons.append(f"{len(not_peer(log))} channels within the host go through its memory, not from GPU to GPU")
    if not rails and (without := [row for row in log if row["event"] == "no_nvls"]):
        reasons.append(f"NVLS, which NVSwitch of Hopper and later has, is not available on {len(without)} of its GPUs")
    classes = {row["value"] for row in log if row["event"] == "variable" and row["name"] == "NCCL_IB_TC"}
    if out and not by_socket(log) and traffic_class is not None and classes != {str(traffic_class)}:
        reasons.append(f"its traffic class is {', '.join(sorted(map(str, classes))) or 'not set'}, not {traffic_class}")
    return reasons
