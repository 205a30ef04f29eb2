# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a command runs in a container of an image, and whether this host can run one so: runtime, image, GPUs, limits and the libraries in it.

``wrapped`` is the argument list with which every load runs in a container. As a program it starts one such container, which looks at what it has and ends,
and prints one row. It pulls no image. A whole program of the standard library: hosts run it as it is.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

# By these every container of a load is found again: whose it is, and of which job.
LOAD, JOB = "gpufabric.pyramid.load", "gpufabric.pyramid.job"
# With this status docker and podman say that they started nothing, with these mostly that the image lacks the program or refuses it.
NOT_STARTED, NO_PROGRAM = 125, (126, 127)
TOTAL_SECONDS, RUN_SECONDS, ASK_SECONDS, SHOWN = 50.0, 25.0, 10.0, 300
# What docker and podman say of an image that the host does not have, in lower case; any other failure tells nothing of it.
NO_IMAGE = ("no such image", "no such object", "image not known")
HELP = ("Run 'docker ", "See 'docker ")
SOCKET = "unix:///var/run/docker.sock"
# What shows an AMD GPU to a container, by the documentation of ROCm, and what lets RCCL map the memory of other processes.
OF_AMD = ("--device=/dev/kfd", "--device=/dev/dri", "--cap-add=SYS_PTRACE", "--security-opt=seccomp=unconfined")
# What enroot runs in place of the image's own script, whose words would be read as the load's; it finds its directory by the variable that every load has.
RC_FILE, RC = "enroot.rc", 'cd "$GPUFABRIC_PYRAMID_LOAD" && exec "$@"\n'
# NVIDIA's hook of enroot gives a container the driver's libraries by these, and images set them for themselves.
HOOK_OF_GPUS = ("NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility")
WITHOUT_HOOK = ("NVIDIA_VISIBLE_DEVICES=void",)
# How a squashfs begins: its magic number, and how many files and folders it holds.
SQUASHFS, BEGINNING = b"hsqs", struct.Struct("<4sI")
# What a container of the image says of itself: torch's own library, where it brings one, and the loader's, which nccl-tests takes.
# The version of RCCL is in the name of its file.
PROBE = r"""
import ctypes, glob, importlib.metadata, json, os, resource, sys
def version(name):
    try:
        found = ctypes.c_int()
        ctypes.CDLL(name).ncclGetVersion(ctypes.byref(found))
    except (OSError, AttributeError):
        return None
    number = found.value
    return "%d.%d.%d" % ((number // 10000, number // 100 % 100, number % 100) if number >= 10000 else (number // 1000, number // 100 % 10, number % 100))
try:
    torch = importlib.metadata.version("torch")
except importlib.metadata.PackageNotFoundError:
    torch = None
own = [one for place in sys.path for one in glob.glob(os.path.join(place, "nvidia/nccl/lib/libnccl.so.2"))]
versions = [version(one) for one in (*own[:1], "libnccl.so.2")]
if sys.argv[2] == "amd":
    versions = [os.path.realpath(one).rpartition("librccl.so.")[2] for one in glob.glob("/opt/rocm*/lib/librccl.so.1")]
limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
gpus = glob.glob("/dev/nvidia[0-9]*") if sys.argv[2] == "nvidia" else glob.glob("/dev/dri/render*")
if sys.argv[2:] == ["nvidia", "enroot"]:
    # It shows the host's whole /dev; what its hook brings is the driver's library.
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        gpus = []
print(json.dumps({
    "variables": sorted("%s=%s" % one for one in os.environ.items() if one[0].startswith(("NCCL_", "RCCL_"))),
    "torch": torch, "nccl": sorted({one for one in versions if one}), "memlock": "unlimited" if limit == resource.RLIM_INFINITY else str(limit),
    "gpus": len(gpus), "rdma": len(glob.glob("/dev/infiniband/uverbs*")),
    "nccl_tests": os.access(os.path.join(sys.argv[1], "all_reduce_perf"), os.X_OK) if sys.argv[1] else None,
}))
"""


def wrapped(
    runtime: str, image: str, argv: list[str], place: str, gpus: str = "", rdma: bool = True, job: str = "", environment: list[str] | tuple[str, ...] = (),
    passed: tuple[str, ...] = (),
) -> list[str]:  # fmt: skip
    """The argument list that runs a command in a container of an image, with the host's network, memory and processes.

    runtime: docker, podman or enroot; place: the directory of the load, mounted at the same path, where enroot finds ``RC_FILE``; gpus: nvidia, amd or nothing;
    rdma: whether it gets the RDMA devices; job: of the load; environment: NAME=VALUE, for enroot the load's directory among them; passed: names of variables
    that it takes from whoever starts it.
    """
    variables = ("PYTHONDONTWRITEBYTECODE=1", *environment, *passed)
    if runtime == "enroot":
        # It shares the host's network, processes, memory, devices and limits unless it is told otherwise.
        hook = HOOK_OF_GPUS if gpus == "nvidia" else WITHOUT_HOOK
        words = [runtime, "start", "--rc", os.path.join(place, RC_FILE), "--mount", f"{place}:{place}"]
        return [*words, *(word for one in (*hook, *variables) for word in ("--env", one)), image, *argv]
    words = [runtime, "run", "--rm", "--pull=never", "--network=host", "--ipc=host", "--pid=host", "--user=0:0", "--log-driver=none"]
    words += ["--ulimit=memlock=-1", "--security-opt=label=disable", f"--volume={place}:{place}", f"--workdir={place}"]
    words += [f"--label={LOAD}={place}", f"--label={JOB}={job}"]
    if gpus == "nvidia":
        words += ["--gpus=all"] if runtime == "docker" else ["--device=nvidia.com/gpu=all"]
    words += OF_AMD if gpus == "amd" else ()
    words += ["--device=/dev/infiniband"] if rdma else []
    for one in variables:
        words += ["--env", one]
    return [*words, f"--entrypoint={argv[0]}", image, *argv[1:]]


class NoAnswer(Exception):
    """The runtime did not answer what it was asked; in words, why."""


class Host:
    """What this host's runtime answers, within the time that is left."""

    def __init__(self, options):
        self.options, self.runtime, self.until = options, options.runtime, time.monotonic() + TOTAL_SECONDS

    def ask(self, argv, seconds=ASK_SECONDS):
        """Exit status (None where it gave no answer in time), output, and the end of what it said on standard error."""
        left = max(1.0, min(seconds, self.until - time.monotonic()))
        try:
            done = subprocess.run(argv, capture_output=True, timeout=left, stdin=subprocess.DEVNULL, check=False)
        except subprocess.TimeoutExpired:
            return None, "", f"no answer within {left:.0f} s"
        except OSError as failed:
            return None, "", str(failed)
        # Clients of docker point to their help behind the error.
        said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip() and not line.startswith(HELP)]
        return done.returncode, done.stdout.decode("utf-8", "replace"), " ".join(said[-2:])[-SHOWN:]

    def state(self):
        """Whether the runtime answers: ok, missing, denied (its socket refuses this user), stopped (no daemon) or failed; its version or its words."""
        if shutil.which(self.runtime) is None:
            return "missing", f"{self.runtime}: not found on PATH"
        form = {"docker": ["version", "--format", "{{.Server.Version}}"], "podman": ["info", "--format", "{{.Version.Version}}"]}[self.runtime]
        code, output, words = self.ask([self.runtime, *form])
        if code == 0 and output.strip():
            return "ok", output.strip()
        return (_socket_state() if self.runtime == "docker" else "failed"), words

    def image(self, name):
        """The image of a name: its id, digests in registries, and the variables of NCCL that it sets; None where the host has none.

        Raises NoAnswer where the runtime tells neither that it has the image nor that it has none.
        """
        code, output, words = self.ask([self.runtime, "image", "inspect", name])
        if code != 0:
            if code is not None and any(one in words.lower() for one in NO_IMAGE):
                return None
            raise NoAnswer(words or f"image inspect ended with status {code}")
        try:
            one = json.loads(output)[0]
            number = str(one["Id"]).rpartition(":")[2]
        except (ValueError, LookupError, TypeError):
            raise NoAnswer("image inspect: what it printed is no answer") from None
        variables = (one.get("Config") or {}).get("Env") or []
        digests = sorted({each.rpartition("@")[2] for each in one.get("RepoDigests") or ()})
        return {"id": f"sha256:{number}" if number else None, "digests": digests, "variables": _of_nccl(variables)}

    def held(self, name):
        """Whether the host has the image of a name, and what is known of it, or of another build by the same name."""
        image = self.image(name)
        if image is None and "@" in name:
            try:
                return {"present": False, **(self.image(name.partition("@")[0]) or {})}
            except NoAnswer:
                return {"present": False}
        return {"present": image is not None, **(image or {})}

    def started(self, place, gpus, rdma):
        """Exit status, output and words of a container that looks at what it has."""
        options = self.options
        argv = [options.python, os.path.join(place, "probe.py"), options.nccl_tests, options.vendor, self.runtime]
        done = self.ask(wrapped(self.runtime, options.image, argv, place, gpus, rdma, environment=(f"GPUFABRIC_PYRAMID_LOAD={place}",)), RUN_SECONDS)
        if done[0] is None and self.runtime != "enroot":
            _code, ids, _words = self.ask([self.runtime, "ps", "--all", "--quiet", "--filter", f"label={LOAD}={place}"])
            for words in (["kill"], ["rm", "--force"]) if ids.split() else ():
                self.ask([self.runtime, *words, *ids.split()])
        return done

    @staticmethod
    def refused(_code, _output):
        """Whether the runtime itself refused to start a container, where its exit status does not tell."""
        return False

    def start(self, place):
        """How a container starts, what it says of itself, and the words of the runtime.

        ok; no_gpus or no_rdma, where it starts without them; no_program, where the image lacks the Python; or failed.
        """
        options = self.options
        gpus, rdma = options.vendor if options.backend == "nccl" else "", options.backend == "nccl"
        code, output, words = self.started(place, gpus, rdma)
        if code in (NOT_STARTED, *NO_PROGRAM) or self.refused(code, output):
            # Podman ends with the same status where the image lacks a program and where nothing names the GPUs: what is left out tells which it is.
            for lacking, less in (("no_gpus", ("", rdma)), ("no_rdma", (gpus, False)), ("no_gpus", ("", False))):
                other, _output, said = self.started(place, *less) if less != (gpus, rdma) else (code, "", words)
                if other == 0:
                    return lacking, {}, words
                words = said if less == (gpus, False) else words
            return "no_program" if code in NO_PROGRAM else "failed", {}, words
        try:
            return ("ok", json.loads(output), "") if code == 0 else ("failed", {}, words or f"it ended with status {code}")
        except ValueError:
            return "failed", {}, "what it printed is no answer"

    def row(self):
        """What is known of this host."""
        state, words = self.state()
        row = {"runtime": self.runtime, "state": state, "version": words if state == "ok" else None, "words": "" if state == "ok" else words}
        row["present"] = None
        if state == "ok":
            try:
                row.update(self.held(self.options.image))
            except NoAnswer as failed:
                row["words"] = str(failed)
        if row["present"]:
            place = tempfile.mkdtemp(prefix="gpufabric.pyramid-")
            try:
                for name, text in (("probe.py", PROBE), (RC_FILE, RC)):
                    with open(os.path.join(place, name), "w", encoding="utf-8") as file:
                        file.write(text)
                row["start"], found, row["words"] = self.start(place)
                variables = found.pop("variables", None)
                row = {"variables": None if variables is None else _of_nccl(variables), **row, **found}
                row["library"] = "rccl" if self.options.vendor == "amd" else "nccl"
            finally:
                shutil.rmtree(place, ignore_errors=True)
        return row


class EnrootHost(Host):
    """A host with enroot, which has no daemon and no store of names: an image is a file."""

    def state(self):
        """Whether enroot is there: ok, missing or failed; its version or its words."""
        if shutil.which(self.runtime) is None:
            return "missing", f"{self.runtime}: not found on PATH"
        code, output, words = self.ask([self.runtime, "version"])
        return ("ok", output.strip()) if code == 0 and output.strip() else ("failed", words)

    def image(self, name):
        """The image in a file: how many inodes its squashfs has, since a file has no id and two imports of one image differ; None where there is none.

        Raises NoAnswer where the file cannot be read, or is no squashfs.
        """
        try:
            with open(name, "rb") as file:
                beginning = file.read(BEGINNING.size)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as failed:
            raise NoAnswer(str(failed)) from None
        if len(beginning) < BEGINNING.size or not beginning.startswith(SQUASHFS):
            raise NoAnswer(f"{name} is no squashfs image")
        return {"id": f"squashfs of {BEGINNING.unpack(beginning)[1]} inodes", "digests": []}

    def held(self, name):
        """Whether the host has the file, and what is known of it."""
        image = self.image(name)
        return {"present": image is not None, **(image or {})}

    @staticmethod
    def refused(code, output):
        """Whether enroot ended before the program began: it does so with status 1, as programs do, which then have printed nothing."""
        return code not in (0, None) and not output


def _of_nccl(variables):
    """Of variables (NAME=VALUE) those that set NCCL or RCCL; images of vendors have the version in one."""
    return [each for each in variables if each.startswith(("NCCL_", "RCCL_")) and not each.startswith(("NCCL_VERSION=", "RCCL_VERSION="))]


def _socket_state():
    """Why docker's daemon does not answer, by what its socket does."""
    path = os.environ.get("DOCKER_HOST") or SOCKET
    if not path.startswith("unix://"):
        return "failed"
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as one:
        one.settimeout(ASK_SECONDS)
        failed = one.connect_ex(path[len("unix://") :])
    return {errno.EACCES: "denied", errno.EPERM: "denied", errno.ENOENT: "stopped", errno.ECONNREFUSED: "stopped"}.get(failed, "failed")


def main():
    """Print the row."""
    parser = argparse.ArgumentParser()
    for name in ("runtime", "image", "python", "vendor", "backend", "nccl-tests"):
        parser.add_argument(f"--{name}", default="")
    options = parser.parse_args()
    host = EnrootHost(options) if options.runtime == "enroot" else Host(options)
    sys.stdout.write(json.dumps({"rows": [host.row()]}) + "\n")


if __name__ == "__main__":
    main()
