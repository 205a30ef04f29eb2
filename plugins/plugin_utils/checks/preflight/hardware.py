# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 0, preflight: what hardware has logged since the boot, and modes of GPUs and NICs that jobs cannot run with."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...pod.rail_ports import rail_ports
from ...pod.types import Rail
from ...readings.rows import Peers, Rows
from .. import CannotTell, Finding, NotApplicable, check
from .._across_groups import counted, of_other_groups, unlike_other_groups
from .._grouping import planned_rails, several
from .._kernel_event_causes import EVENTS
from .._kernel_events import Devices, judged_events
from .._odd_ones import odd_ones, undecided
from .._once import NO_PEERS, once_for_all_nodes
from ..place import Place, at_gpu, at_port
from ._partitions import first_devices, split

# Judged by dcqcn_running.
OF_DCQCN_RUNNING = ("enable", "cnp_dscp")
HEALTHY, LIMITED = "healthy", "limited capacity"
# Lines of the health block beside its summary, which older drivers lack, and what each reads where nothing is wrong.
FABRIC_LINES = (
    ("fabric_bandwidth", "Bandwidth", ("full",)),
    ("fabric_route_recovery", "Route Recovery in progress", ("false", "no")),
    ("fabric_route_unhealthy", "Route Unhealthy", ("false", "no")),
    ("fabric_access_timeout", "Access Timeout Recovery", ("false", "no")),
    ("fabric_configuration", "Incorrect Configuration", ("false", "no", "none")),
)


@check(
    cause="Hardware of the host failed or lost data since the boot; the line of the kernel's log names the device.",
    fix="Read the kernel's log of the host, then follow the fix of the finding; a reboot clears what does not come back.",
    kind="host",
)
def hardware_log(
    kernel_log: Rows, pod_rails: list[Rail], pod_pcie_corrected_max: int, gpus: Rows | None = None, ip_link: Rows | None = None,
    acs_control: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """Since boot the kernel logged no failed NIC, NVSwitch or GPU, refused DMA or uncorrected PCIe error, at most {pod_pcie_corrected_max} corrected ones."""
    rows = [row for row in kernel_log if row["event"] in EVENTS]
    yield from judged_events(rows, Devices.of(pod_rails, gpus, ip_link, acs_control), pod_pcie_corrected_max, "since the boot", past=True)


@check(
    cause="Multi-instance mode (MIG) splits the GPU, so that it has no NVLink (nvidia-smi reports none of its links), no GPUDirect between GPUs, and a part "
    "of its memory for each process: collectives and training over the whole GPU cannot be proved.",
    fix="Drain the host, then nvidia-smi -mig 0 and a reset of the GPU; look for what sets the mode at boot (nvidia-mig-manager, the GPU operator).",
    when=("pod_gpu_vendor", ("nvidia",)),
)
def gpu_whole(gpus: Rows) -> t.Iterator[Finding]:
    """No GPU is in multi-instance mode (MIG)."""
    if not gpus:
        raise CannotTell("GPUs: not reported")
    if all(gpu["mig_mode"] is None for gpu in gpus):
        raise NotApplicable("MIG mode: not reported, as by GPUs that have none")
    for gpu in gpus:
        if gpu["mig_mode"] != "Disabled":
            severity = "unknown" if gpu["mig_mode"] is None else None
            yield Finding(at_gpu(gpu["gpu"]), "MIG mode Disabled", gpu["mig_mode"] or "not reported", severity)


@check(
    cause="The GPU's connection to the NVLink fabric is degraded: a switch, a route or a link of it has failed, or it is misconfigured.",
    fix="Look at the Health lines of nvidia-smi -q and at the Fabric Manager's log; reset the GPUs, then have the switch tray or GPU replaced.",
    when=("pod_gpu_vendor", ("nvidia",)),
)
def fabric_health(gpus: Rows, pod_nvlink_domain: str) -> t.Iterator[Finding]:
    """The NVLink fabric of every GPU is healthy, where the driver reports its health."""
    if not gpus:
        raise CannotTell("GPUs: not reported")
    wrong = [[f"{title} {gpu[column]}" for column, title, sound in FABRIC_LINES if gpu[column] and gpu[column].lower() not in sound] for gpu in gpus]
    over_hosts = pod_nvlink_domain == "gate_group"
    if not over_hosts and not any(wrong) and all(gpu["fabric_health"] is None for gpu in gpus):
        raise NotApplicable("health of the NVLink fabric: not reported by this driver or board")
    for gpu, lines in zip(gpus, wrong):
        health = gpu["fabric_health"]
        lacking = [title for column, title, _sound in FABRIC_LINES if gpu[column] is None and any(other[column] for other in gpus)]
        if lacking and not lines:
            yield Finding(at_gpu(gpu["gpu"]), f"{', '.join(lacking)} of the fabric's health, as of other GPUs", "not reported", "unknown")
        # Drivers that have no summary report the lines alone, which are enough where NVLink reaches over several hosts.
        if over_hosts and health is None and not lines and all(gpu[column] for column, _title, _sound in FABRIC_LINES[:2]):
            continue
        if health is None and not lines:
            yield Finding(at_gpu(gpu["gpu"]), "fabric health Healthy", "not reported", "unknown")
        elif lines or (health or "").lower() != HEALTHY:
            severity = "warn" if (health or "").lower() == LIMITED else None
            yield Finding(at_gpu(gpu["gpu"]), "fabric health Healthy", ", ".join([*([health] if health else []), *lines]), severity)


@check(
    cause="The GPU's memory or logic had errors that could not be corrected since its driver was loaded; pages of it wait to be retired.",
    fix="Drain the host, reset the GPU so that the pages are retired, run AMD's validation suite, and replace the GPU where they come back.",
    kind="host",
    when=("pod_gpu_vendor", ("amd",)),
)
def amd_gpu_errors(pod_gpus_per_host: int, gpu_health: Rows | None = None, gpus: Rows | None = None) -> t.Iterator[Finding]:
    """No AMD GPU has counted an uncorrected or deferred error since its driver was loaded."""
    if gpu_health is None:
        raise NotApplicable("errors of AMD GPUs: not reported (amd-smi)")
    # Of a GPU that is split into partitions the first one counts for all.
    first = set(first_devices(gpus or [])) if split(gpus or [])[0] else {row["gpu"] for row in gpu_health}
    number = len({row["gpu"] for row in gpu_health} & first)
    if number != pod_gpus_per_host:
        yield Finding(Place("GPUs"), f"error counters of {pod_gpus_per_host}", f"of {number}", "unknown")
    for row in gpu_health:
        for name in ("uncorrected", "deferred"):
            if row[name] is None and row["gpu"] not in first:
                continue
            if row[name] is None:
                yield Finding(at_gpu(row["gpu"]), f"no {name} error", "not reported", "unknown")
            elif row[name]:
                yield Finding(at_gpu(row["gpu"]), f"no {name} error", str(row[name]))


@once_for_all_nodes
def _parameters(dcqcn: Peers) -> dict[str, dict[str, str]]:
    """Each parameter of DCQCN on every host of the pod whose NICs all have the same value."""
    found: dict[str, dict[str, str]] = {}
    for host, rows in dcqcn.items():
        values: dict[str, set[str]] = {}
        for row in rows:
            if row["setting"] not in OF_DCQCN_RUNNING:
                values.setdefault(f"{row['role']} {row['setting']}", set()).add(row["value"])
        found[host] = {name: next(iter(its)) for name, its in values.items() if len(its) == 1}
    return {host: values for host, values in found.items() if values}


@once_for_all_nodes
def _counted_parameters(dcqcn: Peers) -> dict[str, Counter[str]]:
    """How many hosts of the pod have each value of each parameter."""
    return counted(_parameters(dcqcn))


@check(
    cause="One NIC's parameters of DCQCN were changed or lost with a reimage: it slows down more or less than the others, and gets more or less than "
    "its fair share of bandwidth.",
    fix="Set the parameter as on the other NICs (sysfs ecn/roce_rp and roce_np, or cc_params of the inbox driver), now and at boot.",
    fabric="roce",
    scope="group",
    when=("pod_congestion_control", ("dcqcn",)),
    meanings=("dcqcn_parameters",),
)
def dcqcn_uniform(dcqcn: dict[str, Rows], pod_rails: list[Rail], dcqcn_of_peers: Peers = NO_PEERS) -> t.Iterator[Finding]:
    """The parameters of DCQCN are the same on all rails of a gate group."""
    several(dcqcn)
    netdevs = {rail["netdev"] for rail in rail_ports(planned_rails(pod_rails))}
    values: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
    for host, rows in dcqcn.items():
        for row in rows:
            if row["setting"] not in OF_DCQCN_RUNNING and row["netdev"] in netdevs:
                values.setdefault((row["role"], row["setting"]), {})[host, row["netdev"]] = row["value"]
    if not values:
        raise NotApplicable("parameters of DCQCN: not reported by this driver")
    everyone = {(host, netdev) for host in dcqcn for netdev in netdevs}
    for (role, setting), of_nic in sorted(values.items()):
        name = f"{role} {setting}"
        elsewhere = of_other_groups(_parameters(dcqcn_of_peers), _counted_parameters(dcqcn_of_peers), name, dcqcn)
        yield from undecided(of_nic, Place(name, of=name), "one value", elsewhere)
        for (host, netdev), value, usual in odd_ones(of_nic, elsewhere):
            alike = sum(one == usual for one in of_nic.values())
            others = f" and {elsewhere[usual]} hosts of other gate groups" if 2 * alike <= len(of_nic) else ""
            yield Finding(at_port(netdev, name), f"{usual}, as {alike} of the group's {len(of_nic)} NICs{others}", value, host=host)
        for host, netdev in sorted(everyone - of_nic.keys()):
            yield Finding(at_port(netdev, name), "a value, as of the group's other NICs", "not reported", "unknown", host=host)


@check(
    cause="The hosts of a gate group have other parameters of DCQCN than those of the other groups, such as the vendor's after an installation: where they "
    "share a link they slow down more or less than the others, and get more or less than their fair share of bandwidth.",
    fix="Set the parameter as in the other groups (sysfs ecn/roce_rp and roce_np, or cc_params of the inbox driver), now and at boot.",
    fabric="roce",
    kind="host",
    severity="warn",
    of_pod=True,
    when=("pod_congestion_control", ("dcqcn",)),
    meanings=("dcqcn_parameters",),
)
def dcqcn_alike(dcqcn_of_peers: Peers, pod_node: str, pod_same_group: list[str]) -> t.Iterator[Finding]:
    """The parameters of DCQCN have the value of most hosts of other gate groups."""
    parameters = _parameters(dcqcn_of_peers)
    if not parameters:
        raise NotApplicable("parameters of DCQCN: not reported by this driver")
    yield from unlike_other_groups(parameters, _counted_parameters(dcqcn_of_peers), pod_node, pod_same_group, (), "parameters")
