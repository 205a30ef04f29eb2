# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules that repair a host share: commands that end, files that are written whole, and units that the next boot starts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile

# Logins without a terminal often lack what lies beside their bin directories.
BESIDE = ("/usr/local/sbin", "/usr/sbin", "/sbin")
UNITS = "etc/systemd/system"
ROOT = {"type": "path", "default": "/"}


class Broken(Exception):
    """A repair that cannot go on; its text is the whole message."""


def tool(*names):
    """The path of the first of some programs that is installed.

    Raises Broken where none is.
    """
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *BESIDE])
    for name in names:
        found = shutil.which(name, path=path)
        if found:
            return found
    raise Broken("{}: not found on PATH".format(" or ".join(names)))


def ran(argv, timeout, refused=""):
    """The standard output of a command that has to succeed within ``timeout`` seconds.

    refused: what was not done, for the words of a failure.
    Raises Broken with the command's own words.
    """
    environment = dict(os.environ, LC_ALL="C", LANG="C", TERM="dumb")
    words = refused or f"{os.path.basename(argv[0])} failed"
    try:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True)
    except OSError as error:
        raise Broken(f"{words}: {error}") from None
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        # The tool and what it started; a process that hangs in the kernel is left behind.
        os.killpg(process.pid, signal.SIGKILL)
        raise Broken(f"{words}: {' '.join(argv)} did not end within {timeout} s") from None
    if process.returncode:
        printed = [line.strip() for line in (stderr + b"\n" + stdout).decode("utf-8", "replace").splitlines() if line.strip()]
        raise Broken(f"{words}: {' '.join(argv)} ended with status {process.returncode}: {' / '.join(printed[:3])[:300] or 'no output'}")
    return stdout.decode("utf-8", "replace")


def text_of(root, *place):
    """The text of a file below ``root``, or None where there is none."""
    try:
        with open(os.path.join(root, *place), encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


class Repair:
    """What a module changes, reported as a diff and in sentences; in check mode it only says so."""

    def __init__(self, module):
        self.module = module
        self.root = module.params["root"]
        self.check = module.check_mode
        self.before = []
        self.after = []
        self.changes = []

    def wants(self, where, was, wanted):
        """Note a setting; True where it has to change."""
        if str(was) == str(wanted):
            return False
        self.before.append(f"{where} = {was}\n")
        self.after.append(f"{where} = {wanted}\n")
        self.changes.append(f"{where} = {wanted} (was {was})")
        return True

    def did(self, words):
        """Note a step that is no setting, such as a restart."""
        self.changes.append(words)

    def file(self, place, text):
        """Make a file below the root hold a text; True where it did not."""
        was = text_of(self.root, place)
        if was == text:
            return False
        self.before += [f"/{place}:\n", was] if was is not None else [f"/{place}: absent\n"]
        self.after += [f"/{place}:\n", text]
        self.changes.append(f"/{place} written")
        if not self.check:
            _written(os.path.join(self.root, place), text)
        return True

    def link(self, place, target):
        """Make a symbolic link below the root; True where it was not there."""
        path = os.path.join(self.root, place)
        if os.path.islink(path) and os.readlink(path) == target:
            return False
        self.before.append(f"/{place}: absent\n")
        self.after.append(f"/{place} -> {target}\n")
        self.changes.append(f"/{place} linked")
        if not self.check:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.lexists(path):
                os.unlink(path)
            os.symlink(target, path)
        return True

    def at_boot(self, name, text, netdevs):
        """Have systemd start a template unit whenever one of some netdevs appears, at boot and after a reset of its NIC.

        name: of the template, without ``@.service``; in its text ``%I`` is the netdev and ``%i`` its escaped name.
        """
        changed = self.file(f"{UNITS}/{name}@.service", text)
        for netdev in netdevs:
            # systemd reads a dash as a slash.
            escaped = netdev.replace("-", "\\x2d")
            wants = f"sys-subsystem-net-devices-{escaped}.device.wants"
            changed |= self.link(f"{UNITS}/{wants}/{name}@{escaped}.service", f"/{UNITS}/{name}@.service")
        if changed and not self.check:
            ran([tool("systemctl"), "daemon-reload"], 60, f"systemd did not take up {name}")

    def result(self, **more):
        """What the module returns."""
        diff = {"before": "".join(self.before), "after": "".join(self.after)}
        return dict(changed=bool(self.changes), diff=diff, changes=self.changes, **more)


def _written(path, text):
    """Write a file whole or not at all."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, name = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".gpufabric-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(name, 0o644)
    os.replace(name, path)


def unit(description, commands):
    """The text of a template unit that runs some commands once for a netdev, when it appears."""
    device = "sys-subsystem-net-devices-%i.device"
    lines = ["# Written by gpufabric.pyramid; it runs whenever the netdev appears.", "[Unit]", f"Description={description} of %I"]
    lines += [f"BindsTo={device}", f"After={device}", "", "[Service]", "Type=oneshot", "RemainAfterExit=yes"]
    lines += [f"ExecStart={command}" for command in commands]
    return "\n".join([*lines, "", "[Install]", f"WantedBy={device}"]) + "\n"


def repaired(module, repair):
    """Run a repair and leave the module; what cannot be repaired fails it with its words and with what was done before.

    repair: a function of a Repair that returns what the module returns besides.
    """
    record = Repair(module)
    try:
        more = repair(record)
    except Broken as broken:
        module.fail_json(msg=str(broken), **record.result())
    except PermissionError as refused:
        module.fail_json(msg=f"no permission: {refused}; use become", **record.result())
    module.exit_json(**record.result(**(more or {})))
