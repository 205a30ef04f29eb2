# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real podman and a real docker with a store of their own, whose image has nothing but this machine's /usr, read only: Debian's Python and torch."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import time
import typing as t
from pathlib import Path

import pytest

IMAGE = "localhost/pyramid-test:1"
SECONDS = 60
LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
FOLDERS = ("usr", "etc/alternatives", "proc", "sys", "dev", "tmp", "run", "var", "root")
# What starts a container: runc, with this machine's files in it, and with the limits of whoever starts it, since most sandboxes let nobody raise one.
RUNTIME = """#!/usr/bin/python3
import json, os, sys
words = sys.argv[1:]
if "create" in words:
    path = os.path.join(words[words.index("--bundle") + 1], "config.json")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    config["process"].pop("rlimits", None)
    for own in ("/usr", "/etc/alternatives"):
        config["mounts"].append({{"destination": own, "type": "bind", "source": own, "options": ["rbind", "ro"]}})
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
os.execv({runc!r}, ["runc", *words])
"""


class Engine:
    """A runtime with a store below a directory; environment: with which it is started, by whomever."""

    name = ""
    image = IMAGE
    needs: tuple[str, ...] = ()

    def __init__(self, place: Path) -> None:
        self.place, self.runtime = place, place / "runtime"
        self.runtime.write_text(RUNTIME.format(runc=shutil.which("runc")), encoding="utf-8")
        self.runtime.chmod(0o755)
        self.environment = {**os.environ, **self.begin()}

    def begin(self) -> dict[str, str]:
        """Start what it needs, and return the variables by which its client finds it."""
        raise NotImplementedError

    def end(self) -> None:
        """Remove its containers, and end what it started."""
        if found := self.containers():
            self.run("rm", "--force", *found)

    def run(self, *words: str, text: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        """One command of its client."""
        return subprocess.run([self.name, *words], input=text, capture_output=True, timeout=SECONDS, check=False, env=self.environment)

    def containers(self) -> list[str]:
        """Every container that there is, whether it runs or not."""
        return self.run("ps", "--all", "--quiet").stdout.decode().split()

    def make_image(self) -> None:
        """The image, with empty folders."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tree:
            for folder in FOLDERS:
                one = tarfile.TarInfo(folder)
                one.type, one.mode = tarfile.DIRTYPE, 0o755
                tree.addfile(one)
            for link, target in LINKS.items():
                one = tarfile.TarInfo(link)
                one.type, one.linkname = tarfile.SYMTYPE, target
                tree.addfile(one)
        done = self.run("import", "-", IMAGE, text=packed.getvalue())
        assert done.returncode == 0, done.stderr


class Podman(Engine):
    """Podman, which has no daemon."""

    name = "podman"
    needs = ("podman", "runc")

    def begin(self) -> dict[str, str]:
        """Write its configuration."""
        storage = f'[storage]\ndriver = "vfs"\nrunroot = "{self.place}/run"\ngraphroot = "{self.place}/graph"\n'
        (self.place / "storage.conf").write_text(storage, encoding="utf-8")
        engine = f'[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\nruntime = "own"\n[engine.runtimes]\nown = ["{self.runtime}"]\n'
        (self.place / "containers.conf").write_text(engine, encoding="utf-8")
        return {"CONTAINERS_STORAGE_CONF": f"{self.place}/storage.conf", "CONTAINERS_CONF": f"{self.place}/containers.conf"}


class Docker(Engine):
    """Docker with a daemon of its own, which touches no network of this machine."""

    name = "docker"
    needs = ("docker", "dockerd", "containerd", "runc")

    def begin(self) -> dict[str, str]:
        """Start the daemon, and await that it answers or ends."""
        address = {"DOCKER_HOST": f"unix://{self.place}/docker.sock"}
        command = ["dockerd", f"--data-root={self.place}/data", f"--exec-root={self.place}/exec", f"--pidfile={self.place}/pid", "--storage-driver=vfs"]
        command += [f"--host={address['DOCKER_HOST']}", "--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"]
        command += [f"--add-runtime=own={self.runtime}", "--default-runtime=own"]
        with (self.place / "log").open("wb") as log:
            self.daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until = time.monotonic() + SECONDS
        while subprocess.run(["docker", "version"], capture_output=True, timeout=SECONDS, check=False, env={**os.environ, **address}).returncode:
            if self.daemon.poll() is not None or time.monotonic() > until:
                self._end_daemon()
                pytest.skip(f"docker's daemon does not run here: {(self.place / 'log').read_text(encoding='utf-8')[-200:]}")
            time.sleep(0.2)
        return address

    def _end_daemon(self) -> None:
        self.daemon.terminate()
        self.daemon.wait(SECONDS)
        # It leaves the name of this machine's own network there.
        subprocess.run(["umount", self.place / "exec/netns/default"], capture_output=True, timeout=SECONDS, check=False)

    def end(self) -> None:
        """End the daemon too."""
        super().end()
        self._end_daemon()


def started(kind: type[Engine], place: Path) -> t.Iterator[Engine]:
    """An engine with its image; the test is skipped where it is not installed or may start no container here."""
    lacking = [name for name in kind.needs if not shutil.which(name)]
    if os.geteuid() or lacking:
        pytest.skip(f"needs root, and lacks {', '.join(lacking) or 'nothing else'}")
    one = kind(place)
    try:
        one.make_image()
        tried = one.run("run", "--rm", "--network=host", "--pid=host", IMAGE, "/bin/true")
        if tried.returncode:
            pytest.skip(f"{one.name} starts no container here: {tried.stderr.decode()[-200:]}")
        yield one
    finally:
        one.end()
