# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the docs that restate the code: checks.md, readings.md, expectations.md and privileges.md.

``python docs/generate.py`` writes them, ``--check`` fails where one is stale.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
import typing as t
from pathlib import Path

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import LAYERS, REGISTRY, Check

# Besides its constant: it imports every layer's checks, which fills REGISTRY.
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.boot_check import BOOT_CHECK
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.layer_input import ANSWERED
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS, PLANNED, SPECIFIED, Bounds, Specification
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.prerequisites.tools import tools
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import KINDS, Column, Reading, Source, catalogue

HERE = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py from the code: change the code, then run `make docs`. -->"
# What a command is repeated for, where its name alone does not say it.
EACH = {"channels": ", where the plan has port-channels", "rail_port": ", for each port of a rail", "bond": ", for each rail that is a bond"}
MARKUP = re.compile(r"\b[VCO]\(((?:[^()\\]|\\.)*)\)")


def main() -> int:
    """The exit status: 1 where ``--check`` finds a stale file."""
    options = argparse.ArgumentParser(description="Write the docs that restate the code.")
    options.add_argument("--check", action="store_true", help="write nothing, fail where a file is stale")
    check = options.parse_args().check
    pages = {"checks.md": checks_page(), "readings.md": readings_page(), "expectations.md": expectations_page(), "privileges.md": privileges_page()}
    stale = [name for name, text in pages.items() if not (HERE / name).is_file() or (HERE / name).read_text(encoding="utf-8") != text]
    for name in stale:
        if check:
            print(f"docs/{name} is stale: run `make docs` and commit what it writes", file=sys.stderr)
        else:
            (HERE / name).write_text(pages[name], encoding="utf-8")
            print(f"docs/{name} is written")
    return 1 if check and stale else 0


def page(title: str, intro: str, sections: t.Iterable[str]) -> str:
    """One document, its parts a blank line apart."""
    return "\n\n".join([f"# {title}", NOTE, intro, *sections]) + "\n"


def checks_page() -> str:
    """Every check by layer, as its decorator and its signature declare it."""
    return page(
        "Checks",
        "Every check by layer: what must hold, what it reads, what it expects, and what to do where it does not hold. "
        "A required check closes its group's gate unless it passes, whatever the reason; any other closes it by a fail or an unknown. "
        f"Every layer has two more: `{ANSWERED}`, each node of the layer was read, and `{BOOT_CHECK}`, no node has booted since a gate below was opened.",
        [_layer(number, layer) for number, layer in enumerate(LAYERS) if REGISTRY[layer]],
    )


def _layer(number: int, layer: str) -> str:
    module = sys.modules[f"{Check.__module__}.{layer}"]
    first = (inspect.getdoc(module) or "").split("\n", maxsplit=1)[0]
    return "\n\n".join([f"## Layer {number}: {layer}", first, *(_check(check) for check in REGISTRY[layer].values())])


def _check(check: Check) -> str:
    facts = {
        "Judges": _judges(check),
        "Takes": "" if check.hosts is None else f"{check.hosts[0]} hosts" + (" of a gate group" if check.hosts[1] == "group" else ""),
        "Required": _required(check),
        "Severity": "" if check.severity == "fail" else check.severity,
        "Needs": check.needs or "",
        "Reads": ", ".join(_read(check)),
        "Not available in a guest": check.not_in_guest,
        "Needs of the NICs' driver": ", ".join(f"`{meaning}`" for meaning in check.meanings),
        "Expects": ", ".join(f"[`{name}`](expectations.md#{name})" for name in check.expectations),
        "Cause": check.cause,
        "Fix": check.fix,
        "Remedy": f"`{check.remedy}`" if check.remedy else "",
    }
    return f"### {check.id}\n\n{check.stated({})}\n\n" + "\n".join(f"- {name}: {words}" for name, words in facts.items() if words)


def _judges(check: Check) -> str:
    nodes = " and ".join({"host": "GPU hosts", "switch": "switches"}[kind] for kind in sorted(check.kinds))
    how = "all of a gate group together" if check.scope == "group" else "each by itself"
    return f"{nodes}, {how}" + (f", on {check.fabric} only" if check.fabric else "")


def _required(check: Check) -> str:
    if check.required is True and check.hosts is not None:
        return "yes; where fewer hosts take part, it is named as not proved"
    if isinstance(check.required, tuple):
        return f"where `{check.required[0]}` is {' or '.join(check.required[1])}"
    return f"where `{check.required}` is set" if isinstance(check.required, str) else "yes" if check.required else ""


def _read(check: Check) -> t.Iterator[str]:
    when = {"before": " before", "idle": " while idle", "during": " under load", "now": ""}
    own = [(name, when[phase], parameter) for phase, name, parameter in check.asked]
    of_peers = [(name, f"{when[phase]} of its peers", parameter) for phase, name, parameter in check.of_peers]
    for name, words, parameter in (*own, *of_peers):
        yield f"[`{name}`](readings.md#{name}){words}" + (" (where there is one)" if parameter in check.optional else "")


def readings_page() -> str:
    """Every reading with its columns and the commands that say it."""
    return page(
        "Readings",
        "Every reading, what its columns hold and which command says it on which platform. "
        "A unit is in the column's name. An optional column is null where the tool did not say: absent is not zero. "
        'Of several commands the first that a node can answer is taken. What is parsed "by documentation" rests on that alone: no output of a device was seen.',
        [_reading(reading) for reading in catalogue().values()],
    )


def _reading(reading: Reading) -> str:
    columns = _table(("Column", "Type", "Optional"), [_column(column) for column in reading.columns])
    rows = [(platform, *_source(source)) for platform, sources in reading.platforms.items() for source in sources]
    for platform, bases in reading.of_fabric.items():
        of_node = "of each node" if platform == "infiniband" else "of each host of an InfiniBand pod"
        rows.append((platform, f"{', '.join(f'[`{base}`](#{base})' for base in bases)} {of_node}", "rows of the fabric"))
    return "\n\n".join([f"## {reading.name}", reading.description, columns, _table(("Platform", "Command", "Parsed by"), rows)])


def _column(column: Column) -> tuple[str, str, str]:
    return f"`{column.name}`", column.type, "yes" if column.optional else ""


def _source(source: Source) -> tuple[str, str]:
    each = EACH.get(source.foreach, f", for each {source.foreach}") if source.foreach else ""
    when = "".join(f", where `{name}` is {_wanted(value)}" for name, value in source.when.items())
    basis = f"; by {source.basis}, not seen on a device" if source.basis else ""
    return f"`{source.command}`{each}{when}", (f"TextFSM `{source.template}`" if source.template else "JMESPath") + basis


def _wanted(value: t.Any) -> str:
    return f"not {json.dumps(value['not'])}" if isinstance(value, dict) else json.dumps(value)


def expectations_page() -> str:
    """Every ``pod_*`` value, and what the wiring plan adds to each node."""
    planned = _table(("Value", "What it is"), [(f'<a id="{name}"></a>`{name}`', text) for name, text in PLANNED.items()])
    return page(
        "Expectations",
        "What a pod is expected to be. The inventory overrides the defaults, for all nodes, a group or a node; "
        "a wrong value is refused before any node is contacted.",
        [
            *(_expectation(SPECIFIED[name]) for name in DEFAULTS),
            f"## By the wiring plan\n\nNot to be set: checks get these for each node from the plan and the inventory.\n\n{planned}",
        ],
    )


def _expectation(spec: Specification) -> str:
    facts = {
        "Type": spec.type + (f" of {spec.elements}" if spec.elements else "") + (", may be null" if spec.nullable else ""),
        "Choices": ", ".join(f"`{choice}`" for choice in spec.choices),
        "Bounds": _bounds(spec.bounds) if spec.bounds else "",
        "Default": f"`{json.dumps(spec.default)}`",
    }
    words = " ".join(MARKUP.sub(r"`\1`", line) for line in spec.description)
    return f"## {spec.name}\n\n{words}\n\n" + "\n".join(f"- {name}: {fact}" for name, fact in facts.items() if fact)


def _bounds(bounds: Bounds) -> str:
    own = [bounds.words] if bounds.maximum is not None else []
    own += [f"{bounds.fewest} or more of them"] if bounds.fewest else []
    own += [f"its keys {bounds.keys.words}"] if bounds.keys else []
    return "; ".join([*own, *(f"`{name}` {one.words}" for name, one in bounds.items.items())])


PLACEHOLDER = re.compile(r"\{\w+\}")
OF_LOADS = {
    "ib_write_bw": "layers 3 and 4",
    "ib_write_lat": "layer 4",
    "torch": "layers 5 and 6",
    "srun": "layers 5 and 6 with `pod_launcher: srun`",
    "mpirun": "layers 5 and 6 with `pod_launcher: mpirun`",
    "docker": "layers 5 and 6 with `pod_container_runtime: docker`",
    "podman": "layers 5 and 6 with `pod_container_runtime: podman`",
}


def privileges_page() -> str:
    """What a run asks of each platform, as the privileges that it needs."""
    return page(
        "Privileges",
        "What a run reads with, and so the least that its users may do. Reading changes nothing; only `remediate.yml` and the loads of layers 3 and "
        "above need more.",
        [_host_privileges(), *(_switch_privileges(platform) for platform in KINDS if KINDS[platform] == "switch" and _commands(platform))],
    )


def _commands(platform: str) -> list[str]:
    sources = [source for reading in catalogue().values() if not reading.load for source in reading.platforms.get(platform, ())]
    return sorted({PLACEHOLDER.sub(".*", source.command) for source in sources})


def _host_privileges() -> str:
    tools_of: dict[str, set[str]] = {}
    for reading in catalogue().values():
        for source in reading.platforms.get("linux", ()) if not reading.load else ():
            tools_of.setdefault(source.tool, set()).add(f"[{reading.name}](readings.md#{reading.name})")
    rows = [(f"`{name}`", *_origin(name), ", ".join(sorted(readings))) for name, readings in sorted(tools_of.items())]
    loads = [(f"`{name}`", *_origin(name)[:-1], words) for name, words in OF_LOADS.items()]
    return "\n\n".join(
        [
            "## GPU hosts",
            "All commands of a layer are started by one Python program on the host, which ends what it started. Ansible's `become` cannot be limited to "
            "single commands: it starts a shell. So there are two ways. With `ansible_become`, one line for the account that runs it, logged by sudo "
            "and by the run's own `commands.json`:",
            "    pyramid ALL=(root) NOPASSWD: ALL",
            "Without it, everything is read that needs no root, and what does is unknown and keeps its gate closed, with the tool's own words:",
            _table(("Tool", "Debian, Ubuntu", "RHEL", "Else from", "Needs root", "Readings"), rows),
            "The loads of layers 3 and above start:",
            _table(("Tool", "Debian, Ubuntu", "RHEL", "Else from", "For"), loads),
            "`playbooks/doctor.yml` names what each host lacks of it, for which checks.",
        ]
    )


def _origin(name: str) -> tuple[str, str, str, str]:
    tool = tools()[name]
    return tool.debian, tool.rhel, tool.source, tool.root


def _switch_privileges(platform: str) -> str:
    commands = _commands(platform)
    if platform == "eos":
        lines = ["role pyramid", *(f"   {10 * number} permit mode exec command {command}" for number, command in enumerate(commands, 1))]
        lines += [f"   {10 * (len(commands) + 1)} deny mode exec command .*", "username pyramid privilege 1 role pyramid sshkey ..."]
    elif platform == "nxos":
        lines = ["role name pyramid", *(f"  rule {number} permit command {command.replace('.*', '*')}" for number, command in enumerate(commands, 1))]
        lines += ["username pyramid role pyramid sshkey ..."]
    else:
        lines = commands
    words = {
        "eos": "A role that may do nothing else; `.*` stands for a port, an address, a prefix or a VRF.",
        "nxos": "A role that may do nothing else; `*` stands for a port, an address or a prefix.",
        "sonic": "Read through the switch's own Python, as a user who may run:",
        "cumulus": "Read through the switch's own Python, as a user of the group `nvshow` who may run:",
        "frr": "Read through the router's own Python, as a user of the group `frrvty` who may run:",
    }.get(platform, "A user who may run:")
    return "\n\n".join([f"## {platform}", words, "\n".join(f"    {line}" for line in lines)])


def _table(head: tuple[str, ...], rows: t.Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


if __name__ == "__main__":
    sys.exit(main())
