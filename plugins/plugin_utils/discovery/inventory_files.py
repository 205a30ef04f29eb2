# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A draft as the files of an inventory: hosts.yml, the wiring plan and the pod's group_vars."""

from __future__ import annotations

import json
import re
import typing as t

from ..pod.cabling import ADDRESSES, CHANNELS, NEEDED, PLACE
from ..pod.expectations import DEFAULTS
from ..readings.rows import Row
from ..text.control_characters import printable
from ..text.counting import counted
from ..text.sorting import natural_key
from .access import Access
from .draft import Draft
from .media import NOT_REPORTED, Medium
from .proposals import ALL

NOTE = "# Drafted by playbooks/discover.yml. A null is a blank: it was not reported, and the reasons are at the end of group_vars/all/pod.yml."
# Nodes, ports and devices; everything else is quoted, as a GUID that YAML takes for a number.
PLAIN = re.compile(r"^(?!(?:null|true|false|yes|no|on|off)$)[A-Za-z][\w./-]*$", re.IGNORECASE)
PROPOSED = (
    "# Proposed: what was read of all nodes, which a whole pod may share as a fault. Compare it with what was ordered; then take the # away, or run",
    "# discover.yml again with -e discover_accept=all. Until then the defaults are expected.",
)
# Without its medium the reach of a cable is unknown.
FILL_MEDIUM = "write dac, aec, aoc or optic into its column, and length_m of dac; without it cable_reach is unknown, which closes layer links"
FILL_LENGTH = "write it into its column; where no module reports it either, cable_reach is unknown, which closes layer links"
KEYS = ("device", "netdev", "members", "pci", "gpu", "leaf")


def inventory_files(
    draft: Draft, groups: t.Mapping[str, t.Sequence[str]], name: str, access: Access | None = None, accepted: t.Container[str] = ()
) -> dict[str, str]:
    """The texts of the draft's files by name; the same draft is always the same text.

    groups: the gate groups as far as the inventory has them; hosts in none are blanks. access: how the nodes were reached; accepted: the proposals
    that are written as expectations, by name, or ``all``.
    """
    access = access or Access()
    texts = {"hosts.yml": _hosts(draft, groups, access), PLACE: _cabling(draft), "group_vars/all/pod.yml": _pod(draft, groups, name, accepted, access.decided)}
    for group, values in access.shared.items():
        texts[f"group_vars/{group}.yml"] = "\n".join([NOTE, "---", *(f"{key}: {_scalar(value)}" for key, value in values.items())]) + "\n"
    return texts


def _cabling(draft: Draft) -> str:
    columns = [*NEEDED, *(ADDRESSES if draft.sessions else ()), *(CHANNELS if draft.channels else ())]
    lines = []
    for cable in draft.cables:
        medium = draft.media.get(cable, NOT_REPORTED)
        cells = [*cable[0], *cable[1], medium.medium, "" if medium.length_m is None else f"{medium.length_m:g}"]
        cells += draft.sessions.get(cable, ("", "")) if draft.sessions else ()
        cells += draft.channels.get(cable, ("", "")) if draft.channels else ()
        lines.append(",".join(cells))
    return "\n".join([",".join(columns), *lines]) + "\n"


def _hosts(draft: Draft, groups: t.Mapping[str, t.Sequence[str]], access: Access) -> str:
    lines = [NOTE, "---", "all:", "  children:", "    gpu_hosts:", "      children:"]
    grouped = {host for hosts in groups.values() for host in hosts}
    rest = sorted((host for host in draft.rails if host not in grouped), key=natural_key)
    for group, hosts in {**groups, **({"in_no_gate_group": rest} if rest else {})}.items():
        lines += [f"        {group}:", "          hosts:"]
        lines += [f"            {host}: {_node({**access.own.get(host, {}), **_addresses(draft.rails.get(host, []))})}".rstrip() for host in hosts]
    for number, (rails, hosts) in enumerate(_types(draft).items(), 1):
        lines += [f"    # {len(hosts)} hosts have these rails.", f"    rails_{number:02}:", "      hosts:", *(f"        {host}:" for host in hosts)]
        lines += ["      vars:", "        pod_rails:", *(f"          - {_flow(rail)}" for rail in json.loads(rails))]
    without_bgp = any(one.name == "pod_underlay" for one in draft.proposals)
    for group, role in (("leaves", "leaf"), ("spines", "spine"), ("super_spines", "super_spine")):
        own = {name: {**access.own.get(name, {}), **_switch(switch, without_bgp)} for name, switch in draft.switches.items() if switch["role"] == role}
        # Super-spines are a group of the spines, which comes before.
        deeper = "    " if role == "super_spine" else ""
        if own or not deeper:
            lines += ["      children:"] if deeper else []
            lines += [f"{deeper}    {group}:", f"{deeper}      hosts:"]
            lines += [f"{deeper}        {name}: {_node(values)}".rstrip() for name, values in own.items()]
    return "\n".join(lines) + "\n"


def _addresses(rails: list[Row]) -> Row:
    given = [rail["address"] for rail in rails]
    return {"rail_addresses": given} if any(given) else {}


def _node(values: Row) -> str:
    """A node's variables in braces, nothing where it has none."""
    return _flow(values) if values else ""


def _types(draft: Draft) -> dict[str, list[str]]:
    """Hosts by their rails; addresses are the host's own."""
    types: dict[str, list[str]] = {}
    for host, rails in draft.rails.items():
        addressed = any(rail["address"] for rail in rails)
        same = [
            {key: rail[key] for key in KEYS if key in rail} | ({"address": f"{{{{ rail_addresses[{number}] }}}}"} if addressed else {})
            for number, rail in enumerate(rails)
        ]
        if same:
            types.setdefault(json.dumps(same), []).append(host)
    return types


def _flow(values: Row) -> str:
    return "{" + ", ".join(f"{key}: {_scalar(value)}" for key, value in values.items()) + "}"


def _scalar(value: t.Any) -> str:
    """A value as YAML; a word that YAML would read as something else is quoted."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        # Addresses of rails, of which YAML takes those of IPv4 for nothing else.
        return f"[{', '.join('null' if one is None else json.dumps(str(one)) if ':' in str(one) else str(one) for one in value)}]"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, int) or PLAIN.match(str(value)) else json.dumps(str(value))


def _switch(switch: Row, without_bgp: bool) -> Row:
    if "asn" in switch:
        return {} if switch["asn"] is None and without_bgp else {"bgp_asn": switch["asn"]}
    return {"pod_node_guid": switch["guid"]} if switch.get("guid") else {}


def _of_ipv6_alone(draft: Draft) -> bool:
    """Whether rails have addresses, and none of IPv4."""
    given = [rail["address"] for rails in draft.rails.values() for rail in rails if rail["address"]]
    return bool(given) and all(":" in address for address in given)


def _pod(draft: Draft, groups: t.Mapping[str, t.Sequence[str]], name: str, accepted: t.Container[str], decided: Row) -> str:
    lines = [NOTE, "---", f"pod_name: {name}", f"pod_fabric: {draft.fabric}", f"pod_topology: {_scalar(draft.topology)}"]
    lines += ["pod_address_family: ipv6"] if _of_ipv6_alone(draft) else []
    lines += [f"pod_gpu_vendor: {draft.vendor}"] if draft.vendor not in (None, DEFAULTS["pod_gpu_vendor"]) else []
    lines += [f"pod_gate_groups: [{', '.join(groups)}]" if groups else "pod_gate_groups: null"]
    # JSON is YAML too, and what a site wrote is a value of any kind.
    lines += [f"{key}: {json.dumps(value)}  # as in the inventory that discovered it" for key, value in decided.items()]
    taken: list[str] = []
    open_ones: list[str] = []
    for one in (one for one in draft.proposals if one.name not in decided):
        (taken if ALL in accepted or one.name in accepted else open_ones).append(f"{one.name}: {_scalar(one.value)}  # {one.read}")
    lines += taken
    if open_ones:
        lines += ["", *PROPOSED, *(f"# {line}" for line in open_ones)]
    if draft.undecided:
        lines += ["", "# Not proposed, because the nodes do not tell; the defaults, or what is written here, are expected:"]
        lines += [f"# - {printable(words)}" for words in draft.undecided]
    if draft.models:
        lines += ["", f"# GPUs found: {printable(', '.join(f'{number} {model}' for model, number in draft.models.items()))}"]
    return "\n".join([*lines, "", "# Blanks:", *(f"# - {printable(reason)}" for reason in reasons_of_blanks(draft, groups, decided))]) + "\n"


def reasons_of_blanks(draft: Draft, groups: t.Mapping[str, t.Sequence[str]], decided: Row) -> list[str]:
    """Why the draft has blanks, and what was read otherwise than the inventory has it; groups, decided: as the files are given them."""
    otherwise = [one for one in draft.proposals if decided.get(one.name, one.value) != one.value]
    reasons = [f"{one.name}: the inventory has {decided[one.name]}, and {one.value} was read ({one.read})" for one in otherwise]
    reasons += [] if groups else ["pod_gate_groups: no groups of the inventory divide gpu_hosts among them"]
    return [*reasons, *draft.blanks, *_blanks_of_cables([draft.media.get(cable, NOT_REPORTED) for cable in draft.cables])]


def _blanks_of_cables(media: t.Sequence[Medium]) -> t.Iterator[str]:
    """What is to be written into the wiring plan by hand. media: of each cable."""
    unknown = sum(not one.medium for one in media)
    if unknown:
        yield f"{PLACE}: medium of {counted(unknown, 'cable')}, which neither end reports: {FILL_MEDIUM}"
    # A virtual function does not read the module of its port, and not every switch reports the length.
    without_length = sum(one.medium == "dac" and one.length_m is None for one in media)
    if without_length:
        yield f"{PLACE}: length_m of {counted(without_length, 'cable')} of passive copper, not reported or not alike at both ends: {FILL_LENGTH}"
    if any(one.medium == "optic" for one in media):
        yield f"{PLACE}: length_m of fibres, which no module reports; where it is given, the headroom of switches is compared with it"
