# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes and fixes of findings that share one thing: a leaf, a gate group, a switch at the ends of links, the way over the spines, a node without an answer.

The names in braces are filled in where the cause is found: hosts, nodes and links are numbers, ``other`` is a switch or group to compare with.
"""

from __future__ import annotations

import typing as t

from .verdicts import FindingRecord


class SharedCause(t.NamedTuple):
    "Cause and fix of findings that share something; severity: of the findings that are looked at."

    cause: str
    fix: str
    severity: str = "fail"

    def write(self, findings: t.Iterable[FindingRecord], **names: object) -> None:
        "Set cause and fix of findings; names: what stands in braces in both, or in one of them."
        for finding in findings:
            finding["cause"], finding["fix"] = self.cause.format(**names), self.fix.format(**names)


# By check whose findings are of single rails: what all hosts at one leaf have, and on other leaves none.
OF_LEAVES = {
    "write_bw_per_rail": SharedCause(
        cause=(
            "All {hosts} hosts are slow on {leaf} with each other, or nothing of theirs arrives there, and they pass on other leaves: they share "
            "{leaf} there, or a setting of these rails' NICs."
        ),
        fix=(
            "Compare {leaf} with {other}: release, rate and FEC of its ports, buffers, filters (an ACL that drops RoCE, which is UDP to port 4791, "
            "lets pings pass), policers, PFC watchdog and its log; then the firmware and settings of these rails' NICs with those of the others."
        ),
    ),
    "right_class": SharedCause(
        cause=(
            "What all {hosts} hosts receive from {leaf} is in another class than it was sent in, and from other leaves it is in the right one: "
            "{leaf} rewrites or does not trust DSCP, or these rails' NICs map it otherwise."
        ),
        fix=(
            "Compare {leaf} with {other}: the trust mode (DSCP) of its ports, its DSCP map and any rewriting or policy on them; then mlnx_qos of "
            "these rails' NICs."
        ),
    ),
    "losses_under_load": SharedCause(
        cause=(
            "Under load all {hosts} hosts have packets that are lost or damaged on {leaf}, and none on other leaves: {leaf} drops what it should "
            "keep (buffers, headroom, PFC), or damages it where a wrong ICRC is counted (errors of its packet memory), or a setting of these rails' "
            "NICs differs."
        ),
        fix=(
            "Compare {leaf} with {other}: its drop counters, buffers, PFC and ECN of the RoCE priority, and parity or ECC errors of its memory in "
            "its log, with which it is taken out of the paths and replaced; then the firmware and settings of these rails' NICs with those of the "
            "others."
        ),
    ),
    "crc_clean": SharedCause(
        cause=(
            "The NICs of all {hosts} hosts receive damaged frames (CRC) from {leaf}, and none from other leaves, and nothing says that {leaf} "
            "received them so: it damages them itself (its memory, its ASIC), or sends badly on all of these ports (drivers and tuning of its lanes, "
            "its modules), and not {hosts} cables."
        ),
        fix=(
            "Look at {leaf} and compare it with {other}: parity and ECC errors in its log, output errors of its ports, media settings and release, "
            "the kind of its modules; reset or replace it. Touch cables and optics of the hosts only if another leaf's port at the same cable is "
            "clean."
        ),
    ),
    "slow_receiver": SharedCause(
        cause=(
            "The NIC of this rail pauses {leaf} on all {hosts} hosts, and no other rail of theirs does: what they share is this NIC's place in the "
            "host (its slot, riser or PCIe switch, the socket and memory beside it, a BIOS setting of that slot) or its firmware and settings, and "
            "not one host."
        ),
        fix=(
            "Compare this rail with another of the same host: pcie_link, nic_pcie_alike, acs_as_expected, nic_gpu_affinity, firmware and mlxconfig "
            "of the NIC, BIOS settings of its slot; then what the host does beside the NIC (GPUs, memory) there. {leaf} and {other} need no change."
        ),
    ),
    "rails_reachable": SharedCause(
        cause=(
            "All {hosts} hosts lose pings on {leaf}, and none that do not pass it: {leaf} drops them or its links to the spines do, whether it "
            "counts them or not, and not {hosts} hosts."
        ),
        fix=(
            "Look at {leaf}: drops and errors of its ports, parity or ECC errors of its memory in its log, its load and what it filters or polices, "
            "compared with {other}; see whether pings between two hosts on it are lost too, else shut one of its uplinks after the other and ping "
            "again. Where it counts nothing, take it out of the paths and reset or replace it."
        ),
    ),
    "path_carries_full_size": SharedCause(
        cause=(
            "Of all {hosts} hosts large packets are lost on {leaf}, and none that do not pass it: one of its uplinks, or the port of a spine to it, "
            "has a smaller MTU or loses packets, whether it counts them or not."
        ),
        fix=(
            "Compare MTU, drops and errors of every uplink of {leaf}, and of the spines' ports to it, with those of {other}. Where nothing differs, "
            "shut one uplink after the other and run layer routing again: without the bad one all flows are answered (one bad uplink of four loses a "
            "quarter)."
        ),
    ),
    "write_latency": SharedCause(
        cause=(
            "All {hosts} hosts that measured it have a longer latency on {leaf}, and none on other leaves: {leaf} forwards another way (store and "
            "forward, a detour), its ports have another rate or error correction, or a queue of it is not empty; or these rails' NICs are set up "
            "otherwise."
        ),
        fix=(
            "Compare {leaf} with {other}: its forwarding mode (cut-through), release, rate and FEC of its ports, and its queues while the pod is "
            "idle; then ASPM, firmware and settings of these rails' NICs with those of the others."
        ),
        severity="warn",
    ),
}
# All rails of all hosts of a gate group.
OF_GROUP = SharedCause(
    cause=(
        "All rails of all {hosts} hosts of {group} are slow, and those of {other} pass: it is what hosts of {group} share, such as a BIOS profile "
        "that saves power, their image and kernel command line, their power supply, or leaves of their own."
    ),
    fix=(
        "Compare a host with one of {other}: BIOS profile (maximum performance, C-states, PCIe and NUMA settings), kernel command line, CPU "
        "governor, NIC firmware and settings; then the leaves of both."
    ),
)
# Paths between hosts of different leaves.
OF_PATHS = SharedCause(
    cause=(
        "All {hosts} hosts are slow with hosts under other leaves, on {leaves} leaves, and no rail is slow by itself: it is the way over the spines, "
        "and no host and no NIC. The spines or the uplinks run at a lower rate, all flows take few of them (hash, paths), or RoCE is lossy or "
        "policed there."
    ),
    fix=(
        "Look at the spines first: rate and errors of their ports, drops, PFC and ECN of the RoCE priority, class maps and policers, release; then "
        "at the number of paths and the load of the uplinks on a leaf (layers 2 and 3). The hosts and their NICs need no change."
    ),
)
OF_LOSSES = SharedCause(
    cause=(
        "All {hosts} hosts have packets sent again, on {leaves} leaves, and no switch reports damaged or dropped ones: either packets of one queue "
        "pair arrive out of order, since switches spread them over several paths (adaptive routing, packet spraying) and the NICs take them only in "
        "order, or all switches drop without a count."
    ),
    fix=(
        "Compare out_of_sequence of the NICs with what switches drop: where it grows and nothing is dropped, switch adaptive routing or per-packet "
        "load balancing off for RoCE on the switches, or have the NICs take packets out of order (their firmware's setting for adaptive routing on "
        "every host; then set pod_adaptive_routing). Else look at PFC and headroom of the RoCE priority on all switches."
    ),
)
OF_FIBRES = SharedCause(
    cause=(
        "All {hosts} hosts of {group} with optics at {leaf} have too little light on that rail, and none of them on all of their other rails: what "
        "they share is the trunk cable, cassette or patch panel between {leaf} and {group}, or the modules of one kind or card of {leaf}, and not "
        "{hosts} optics."
    ),
    fix=(
        "Look at the trunk between {leaf} and {group} first: bent or pinched, its MPO connectors and the cassettes at both ends dirty or not seated; "
        "measure its loss. Then compare what {leaf} sends on these ports with its other ports. Clean or replace single optics only where that "
        "changes nothing."
    ),
)
# By check: what several nodes find at their links to one.
OF_FAR_NODES = {
    "optic_rx_power": SharedCause(
        cause=(
            "{number} nodes receive too little light from {node}, each over a cable of its own, and none from another node: what they share is "
            "{node}: the kind, heat or power of its modules, or the fibres that leave it together, and not {number} optics."
        ),
        fix=(
            "Look at {node}: what its modules send (tx power, bias, temperature), their kind and firmware, and the fans beside them; then at the "
            "fibres that leave it together. Compare with another node's; the other ends need no change."
        ),
    ),
    "ib_errors_clean": SharedCause(
        cause=(
            "{number} nodes have errors on their links to {node}, each on a cable of its own, and none to another node: what they share is {node}: "
            "its modules, its heat, or the cables that are bent or pulled together where they leave it, and not {number} cables that failed at once."
        ),
        fix=(
            "Look at {node} first: how its cables are led, the seat and temperature of its modules, its log; reseat them there, clear the counters "
            "of both ends and soak again. Replace single cables only where errors stay on them alone."
        ),
    ),
}
OF_LINKS_DOWN = SharedCause(
    cause=(
        "{number} of {all} links of {switch} to {others} are down, each to another of these, whose other links are up, and neither end says why: "
        "what they share is {switch}, and not {number} cables or optics. One of its line cards, or what supplies and drives a group of its ports "
        "(power, a retimer or gearbox, a daemon), did not come up."
    ),
    fix=(
        "Look at {switch} for what its ports {ports} have in common: state and log of its line cards (show module, show chassis modules status), "
        "power of the modules and their daemon (xcvrd, syncd) since its last boot; reset that card or boot the switch. Touch cables only if the "
        "others of the group are up."
    ),
)
OF_SLOW_LINKS = SharedCause(
    cause=(
        "{number} of {all} links of {switch} to {others} run at a lower rate than planned, each to another of these, whose other links are well: "
        "what they share is {switch}, and not {number} cables or modules. Its ports are set to that rate or split (speed, lanes, a profile), or its "
        "release or model does no more."
    ),
    fix=(
        "Compare what is set on the ports {ports} of {switch} (speed, lanes, split mode, profile; on InfiniBand mlxlink or ibportstate of the "
        "switch), its model and its release with those of a switch whose links are well; set the rated speed there. Touch cables and modules only if "
        "that changes nothing."
    ),
)
# A switch that does not answer.
SWITCH_IS_DOWN = SharedCause(
    cause=(
        "All {number} links of {switch} are down at their other ends, too: it has no power, has crashed, or all of its ports are off, and not its login alone."
    ),
    fix=(
        "Look at {switch} by its console, its power supplies and its management of last resort (BMC, PDU); boot it, and read its log and reboot "
        "cause (show reload cause, show reboot-cause) before it is used again. Its cables and the other ends need no change."
    ),
)
# One whose links are up.
SWITCH_IS_UP = SharedCause(
    cause=(
        "All {number} links of {switch} are up at their other ends: it has power and its ports work, so that what does not answer is its management "
        "port, its login, or the processor behind them."
    ),
    fix=("Log in to {switch} by hand as the run does (same user, same key), and by its console; look at its management port and VRF, its AAA and its load."),
)
# By kind: nodes that were not asked, at the other ends of links that are down.
NODES_ARE_DOWN = {
    "switch": SharedCause(
        cause=(
            "All {number} links of {nodes} are down at their other ends, and nothing was asked of {nodes}, whose gate groups a layer below had "
            "closed: it is the power of a rack or row (a feed, a PDU), or what else they share with the hosts behind them, and not {number} cables "
            "or optics."
        ),
        fix="Look at the power of {nodes} and of the hosts behind them, by PDU and console; touch no cable or optic before they are up again.",
    ),
    "host": SharedCause(
        cause=(
            "All {number} links of {nodes} are down at their other ends, too: no power, a crash or a shutdown, and not the login alone. The leaves "
            "and their ports are not at fault."
        ),
        fix=(
            "Look at {nodes} by console and management controller (ipmitool power status, ipmitool sel list) and at the power feed that they share; "
            "touch no cable, optic or leaf before they are up again."
        ),
    ),
}
