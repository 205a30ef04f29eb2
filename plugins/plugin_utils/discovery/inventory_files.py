# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A draft as the files of an inventory: hosts.yml, the wiring plan and the pod's group_vars."""

from __future__ import annotations

import json
import re
import typing as t

from ..pod.cabling import PLACE
from ..text.control_characters import printable
from .draft import Draft, draft_order

Row = dict[str, t.Any]
NOTE = "# Drafted by playbooks/discover.yml. A null is a blank: it was not reported, and the reasons are at the end of group_vars/all/pod.yml."
# Nodes, ports and devices; everything else is quoted, as a GUID that YAML takes for a number.
PLAIN = re.compile(r"^(?!(?:null|true|false|yes|no|on|off)$)[A-Za-z][\w./-]*$", re.IGNORECASE)
KEYS = ("device", "netdev", "pci", "gpu", "leaf")


def inventory_files(draft: Draft, groups: t.Mapping[str, t.Sequence[str]], name: str) -> dict[str, str]:
    """The texts of the draft's files by name; the same draft is always the same text.

    groups: the gate groups as far as the inventory has them; hosts in none are blanks.
    """
    return {"hosts.yml": _hosts(draft, groups), PLACE: _cabling(draft), "group_vars/all/pod.yml": _pod(draft, groups, name)}


def _cabling(draft: Draft) -> str:
    lines = [f"{a[0]},{a[1]},{b[0]},{b[1]},," for a, b in draft.cables]
    return "\n".join(["a_node,a_port,b_node,b_port,medium,length_m", *lines]) + "\n"


def _hosts(draft: Draft, groups: t.Mapping[str, t.Sequence[str]]) -> str:
    lines = [NOTE, "---", "all:", "  children:", "    gpu_hosts:", "      children:"]
    grouped = {host for hosts in groups.values() for host in hosts}
    rest = sorted((host for host in draft.rails if host not in grouped), key=lambda one: draft_order([one]))
    for group, hosts in {**groups, **({"in_no_gate_group": rest} if rest else {})}.items():
        lines += [f"        {group}:", "          hosts:"]
        lines += [f"            {host}: {_addresses(draft.rails.get(host, []))}".rstrip() for host in hosts]
    for number, (rails, hosts) in enumerate(_types(draft).items(), 1):
        lines += [f"    # {len(hosts)} hosts have these rails.", f"    rails_{number:02}:", "      hosts:", *(f"        {host}:" for host in hosts)]
        lines += ["      vars:", "        pod_rails:", *(f"          - {_flow(rail)}" for rail in json.loads(rails))]
    for group, role in (("leaves", "leaf"), ("spines", "spine")):
        lines += [f"    {group}:", "      hosts:"]
        lines += [f"        {name}: {_switch(switch)}".rstrip() for name, switch in draft.switches.items() if switch["role"] == role]
    return "\n".join(lines) + "\n"


def _addresses(rails: list[Row]) -> str:
    given = [rail["address"] for rail in rails]
    return f"{{rail_addresses: [{', '.join(str(one or 'null') for one in given)}]}}" if any(given) else ""


def _types(draft: Draft) -> dict[str, list[str]]:
    """Hosts by their rails; addresses are the host's own."""
    types: dict[str, list[str]] = {}
    for host, rails in draft.rails.items():
        addressed = any(rail["address"] for rail in rails)
        same = [
            {key: rail[key] for key in KEYS} | ({"address": f"{{{{ rail_addresses[{number}] }}}}"} if addressed else {}) for number, rail in enumerate(rails)
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
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, int) or PLAIN.match(str(value)) else json.dumps(str(value))


def _switch(switch: Row) -> str:
    if "asn" in switch:
        return _flow({"bgp_asn": switch["asn"]})
    return _flow({"pod_node_guid": switch["guid"]}) if switch.get("guid") else ""


def _pod(draft: Draft, groups: t.Mapping[str, t.Sequence[str]], name: str) -> str:
    lines = [NOTE, "---", f"pod_name: {name}", f"pod_fabric: {draft.fabric}", f"pod_topology: {_scalar(draft.topology)}"]
    lines += [f"pod_gate_groups: [{', '.join(groups)}]" if groups else "pod_gate_groups: null", f"pod_link_gbit_s: {_scalar(draft.link_gbit_s)}"]
    reasons = [] if groups else ["pod_gate_groups: no groups of the inventory divide gpu_hosts among them"]
    reasons += [*draft.blanks, f"{PLACE}: medium and length_m of every cable, which no reading reports"]
    return "\n".join([*lines, "", "# Blanks:", *(f"# - {printable(reason)}" for reason in reasons)]) + "\n"
