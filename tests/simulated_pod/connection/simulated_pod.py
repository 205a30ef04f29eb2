# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible's local connection to a node that does not exist."""

from __future__ import annotations

DOCUMENTATION = """
    name: simulated_pod
    short_description: talk to a node of the simulated pod
    description:
        - Runs commands on the controller with a directory of tool programs on PATH that answer for the node.
    author: The gpufabric.pyramid authors
    options:
        inventory:
            description: The directory of the inventory.
            vars: [{name: simulated_inventory}]
        faults:
            description: Names of faults and variants, separated by commas. Of one the variable may be called so, too, since no one refuses its name.
            default: ""
            vars: [{name: simulated_faults}, {name: simulated_fault}]
        seed:
            description: Another seed is another pod as healthy.
            type: int
            default: 1
            vars: [{name: simulated_seed}]
        state:
            description: A directory in which the pod keeps what its hosts become; it is made with the faults in force. Without one nothing changes.
            default: ""
            vars: [{name: simulated_state}]
        troubles:
            description: A directory with what befalls nodes between a request and its answer, as C(tests/chaos) writes it. Without one nothing does.
            default: ""
            vars: [{name: simulated_troubles}]
        become_success_timeout:
            version_added: '2.19'
            type: int
            default: 10
            description: As of the local connection.
            vars:
                - name: ansible_local_become_success_timeout
        become_strip_preamble:
            version_added: '2.19'
            type: bool
            default: true
            description: As of the local connection.
            vars:
                - name: ansible_local_become_strip_preamble
    extends_documentation_fragment:
        - connection_pipelining
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from ansible import context
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.connection.local import Connection as Local

BOOT_ID = re.compile(rb'"boot_id": "[^"]*"')
TELLS_BOOT = re.compile(rb'"boot_id": "|"bootupTimestamp": ')
HERE = Path(__file__).resolve().parents[1]
KEPT = 20
# Which pod each run under way found, as links.
PINS = "=pins"


class Connection(Local):
    """The local connection with the node's own tools."""

    transport = "simulated_pod"
    has_pipelining = True

    def set_options(self, task_keys: Any = None, var_options: Any = None, direct: Any = None) -> None:
        """As every connection's, and no task runs with a fault that does not exist: a node whose answers fail would look as if it were down."""
        super().set_options(task_keys=task_keys, var_options=var_options, direct=direct)
        if unknown := [name for name in _names(self.get_option("faults")) if not _is_fault(name.partition("@")[0])]:
            from ansible_collections.gpufabric.pyramid.tests.simulated_pod import changes

            raise AnsibleError("simulated_faults: " + " ".join(changes.unknown_name(name.partition("@")[0], changes.files()) for name in unknown))

    def _connect(self) -> Connection:
        connection = super()._connect()
        wanted = Path(self.get_option("inventory")), self.get_option("faults"), self.get_option("seed")
        self.state = self.get_option("state")
        self.place = kept(Path(self.state), *wanted) if self.state else of_run(_run(), *wanted, str(context.CLIARGS.get("subset") or ""))
        self.node = self._play_context.remote_addr
        for line in (self.place / "unreachable").read_text(encoding="utf-8").splitlines():
            name, words = line.split(" ", maxsplit=1)
            if name == self.node:
                raise AnsibleConnectionFailure(words)
        return connection

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        """As the local connection's, with the node's environment and nothing else on PATH."""
        if not self._connected:
            self._connect()
        values = {"PATH": self.place / self.node / "bin", "SIMULATED_POD": self.place, "SIMULATED_NODE": self.node}
        values |= {"SIMULATED_RUN": _run(), "SIMULATED_PYTHON": sys.executable, "TMPDIR": self.place / self.node / "tmp"}
        exported = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in values.items())
        # A switch takes `| json` as words of its own; the shell that stands in for it would not.
        cmd = cmd.replace(" | ", " '|' ") if cmd.startswith("show ") else cmd

        def run(command: str) -> tuple[int, bytes, bytes]:
            return Local.exec_command(self, f"export {exported}; {command}", in_data=in_data, sudoable=sudoable)

        troubles = self.get_option("troubles")
        output = _chaos().befall(Path(troubles), self.node, cmd, run) if troubles else run(cmd)
        if self.state:
            _state().absorb(self.place, self.node)
        return output[0], _as_booted(self.place / self.node, output[1]), output[2]


def _as_booted(place: Path, stdout: bytes) -> bytes:
    """A response with the boot that the node tells of: its kernel is the controller's, unless it has booted since."""
    if not TELLS_BOOT.search(stdout):
        return stdout
    with (place / f"=responses.{_run()}").open("ab+") as file:
        number = file.tell()
        file.write(b".")
    after = (place / "=boots_after").read_text(encoding="ascii")
    booted = bool(after) and number >= int(after)
    if b'"bootupTimestamp"' in stdout:
        try:
            output = json.loads(stdout)
        except ValueError:
            # It was cut on its way.
            return stdout
        boot = time.time() - 5 if booted else output["bootupTimestamp"]
        return json.dumps({**output, "uptime": time.time() - boot, "bootupTimestamp": boot}).encode() + b"\n"
    fresh = str(uuid.uuid5(uuid.NAMESPACE_DNS, place.name)).encode()
    return BOOT_ID.sub(rb'"boot_id": "' + fresh + rb'"', stdout) if booted else stdout


def _chaos() -> Any:
    """As needed by few."""
    from ansible_collections.gpufabric.pyramid.tests.chaos import befalling

    return befalling


def _run() -> str:
    """The run: Ansible's main process, as ``process`` names it."""
    return process(os.getppid())


def process(pid: int) -> str:
    """A process by its id and its start, which no later one with the same id has; fails with OSError where there is none."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return f"{pid}-{stat.rpartition(')')[2].split()[19]}"


def _state() -> Any:
    """Needed by few: it takes a while to load."""
    from ansible_collections.gpufabric.pyramid.tests.simulated_pod import state

    return state


def pod(inventory: Path, faults: str, seed: int) -> Path:
    """The directory with the answers of a pod; rendered by whoever comes first."""
    names = _names(faults)
    return _rendered(_root() / _key(inventory, names, seed), inventory, names, seed, False)


def of_run(run: str, inventory: Path, faults: str, seed: int, limit: str = "") -> Path:
    """The directory of a pod for one run: the one that its first task found, so that an edit of what renders it changes no run under way.

    run: as ``process`` names it; limit: of the run, whose loads are among the hosts inside.
    """
    names, pins = _names(faults), _root() / PINS
    pins.mkdir(mode=0o700, exist_ok=True)
    pin = pins / f"{run}.{hashlib.sha256(chr(10).join([str(inventory), *sorted(names), str(seed)]).encode()).hexdigest()[:20]}"
    if not pin.is_symlink():
        # Of tasks that come at once, one decides.
        with contextlib.suppress(FileExistsError):
            pin.symlink_to(_key(inventory, names, seed, _inside(inventory, limit)))
    return _rendered(_root() / pin.readlink(), inventory, names, seed, False, limit)


def _root() -> Path:
    # A checkout of its own: another one's pods must not push out those that are climbed here.
    checkout = hashlib.sha256(str(HERE).encode()).hexdigest()[:8]
    root = Path(tempfile.gettempdir()) / f"simulated_pod-{os.getuid()}-{checkout}"
    root.mkdir(mode=0o700, exist_ok=True)
    return root


def kept(place: Path, inventory: Path, faults: str, seed: int) -> Path:
    """The directory of a pod that keeps its state; made by whoever comes first."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _rendered(place, inventory, _names(faults), seed, True)


def _is_fault(name: str) -> bool:
    """Whether ``changes.files`` has a name, without what it imports; each task of each node asks, and the folders have a thousand files."""
    folders = (HERE / "faults", HERE / "faults_infiniband", HERE / "faults_nvl72", HERE / "variants", HERE.parent / "incidents")
    return "/" not in name and any((folder / f"{name}.yml").is_file() for folder in folders)


def _names(faults: str) -> list[str]:
    return [name.strip() for name in faults.split(",") if name.strip()]


def _rendered(place: Path, inventory: Path, names: list[str], seed: int, keeps: bool, limit: str = "") -> Path:
    if not (place / "unreachable").exists():
        # A lock a pod: a large one takes minutes, and the others do not wait for it.
        with place.with_name(f".{place.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (place / "unreachable").exists():
                _render(inventory, names, seed, place, keeps, limit)
    return place


def _inside(inventory: Path, limit: str) -> list[str]:
    """The hosts among which the loads of a run are, where these are not all."""
    if not limit:
        return []
    from ansible_collections.gpufabric.pyramid.tests.simulated_pod import planned

    return planned.limited(inventory, limit) or []


def _key(inventory: Path, names: list[str], seed: int, loaded: list[str] | None = None) -> str:
    """What the answers depend on: wiring, expectations, faults, seed, the hosts that are loaded, and the programs that render them."""
    sources = [
        *HERE.rglob("*.py"),
        *HERE.rglob("*.yml"),
        *HERE.parent.glob("incidents/*.yml"),
        *HERE.glob("tools/*"),
        *HERE.parents[1].glob("plugins/plugin_utils/readings/definitions/*.yml"),
        *HERE.parents[1].glob("plugins/plugin_utils/readings/drivers/*.yml"),
    ]
    output = [f"{path} {path.stat().st_mtime_ns}" for path in sorted([*sources, *(one for one in inventory.rglob("*") if one.is_file())])]
    return hashlib.sha256("\n".join([*output, str(inventory), *sorted(names), str(seed), *(loaded or [])]).encode()).hexdigest()[:20]


def _prune(root: Path) -> None:
    """Keep the newest pods, and those of runs under way."""
    used = _used(root / PINS)
    pods = sorted((one for one in root.iterdir() if (one / "unreachable").exists() and one.name not in used), key=lambda one: one.stat().st_mtime)
    for old in pods[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
        old.with_name(f".{old.name}.lock").unlink(missing_ok=True)


def _used(pins: Path) -> set[str]:
    """The pods of runs under way; forgets those of runs that have ended."""
    used = set()
    for pin in pins.glob("*"):
        run = pin.name.partition(".")[0]
        with contextlib.suppress(OSError):
            if process(int(run.partition("-")[0])) == run:
                used.add(str(pin.readlink()))
                continue
        pin.unlink(missing_ok=True)
    return used


def _render(inventory: Path, names: list[str], seed: int, place: Path, keeps: bool, limit: str) -> None:
    from ansible_collections.gpufabric.pyramid.tests.simulated_pod import planned, rendering

    fresh = Path(tempfile.mkdtemp(dir=place.parent))
    try:
        (_state().begin if keeps else rendering.render)(*planned.made(inventory, names, seed, planned.limited(inventory, limit)), fresh)
        fresh.rename(place)
        if not keeps:
            _prune(place.parent)
    except (KeyError, LookupError, ValueError) as error:
        raise AnsibleError(f"simulated pod: {error.args[0] if error.args else error}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(fresh)
