# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many commands side by side on one node, a timeout each, in one round trip.

This file is a whole program of the standard library: the action ``read`` pipes it to the node's Python
with its request, and a module imports it where a connection cannot pipe.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

AT_ONCE = 16
MOST_BYTES = 8 * 1024 * 1024
# What a killed process may take to go before it is called hung in the kernel and left behind.
GRACE_SECONDS = 2.0
# Logins without a terminal often lack what lies beside their bin directories.
BESIDE = {"/usr/local/bin": "/usr/local/sbin", "/usr/bin": "/usr/sbin", "/bin": "/sbin"}

_running = {}
_turns = {}
_results = {}
_directories = []
_lock = threading.Lock()
# Held from a command's start until it is known; a signal may come in between, to the thread that holds it too.
_starting = threading.RLock()


def answer(request):
    """Run every command of a request and return what each printed.

    request: ``commands``, each with ``id``, ``alternatives`` (``argv`` and the exit statuses ``rc`` that make it an answer, and in ``needs``
    a program that it starts itself, or None; the first that answers is taken), ``timeout`` in seconds and ``exclusive`` (None, or a key
    that two running commands never share); ``programs``, a mapping of name to source text that arguments refer to as ``{name}``; ``devices``, RDMA
    devices and netdevs whose PCI address arguments refer to as ``{pci:DEVICE}``. Equal argument lists are run once.
    Returns ``boot_id``, ``uptime_seconds`` and ``answers`` by id: ``status`` (ran, missing, failed, timeout, hung or denied),
    ``chosen`` (the alternative's number), ``argv``, ``rc``, ``stdout``, ``stderr``, ``seconds``, ``cut`` (more text than is kept).
    """
    _end_on_signals()
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join([*path, *(BESIDE[place] for place in path if place in BESIDE and BESIDE[place] not in path)])
    os.environ.update(LC_ALL="C", LANG="C", TERM="dumb")
    with tempfile.TemporaryDirectory(prefix="gpufabric.pyramid-") as directory:
        _directories.append(directory)
        places = {"{" + name + "}": _written(directory, name, text) for name, text in request.get("programs", {}).items()}
        places.update((f"{{pci:{device}}}", _pci(device)) for device in request.get("devices", ()))
        answers = _side_by_side(request["commands"], places)
    return {"boot_id": _line("/proc/sys/kernel/random/boot_id"), "uptime_seconds": float((_line("/proc/uptime") or "0").split()[0]), "answers": answers}


def _written(directory, name, text):
    path = os.path.join(directory, name + ".py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _line(path):
    try:
        with open(path, encoding="ascii") as file:
            return file.readline().strip()
    except OSError:
        return None


def _side_by_side(commands, places):
    """One thread a waiting command; commands of one exclusive key share a queue."""
    queues = {}
    for number, command in enumerate(commands):
        queues.setdefault(command.get("exclusive") or number, []).append(command)
    waiting = list(queues.values())
    answers = {}

    def work():
        while True:
            with _lock:
                if not waiting:
                    return
                queue = waiting.pop(0)
            for command in queue:
                answers[command["id"]] = _run(command, places)

    threads = []
    # A node that is out of threads still answers, with those that it has: one of them is this one.
    with contextlib.suppress(RuntimeError):
        for _thread in range(min(AT_ONCE, len(waiting)) - 1):
            threads.append(threading.Thread(target=work, daemon=True))
            threads[-1].start()
    work()
    for thread in threads:
        if thread.ident is not None:
            thread.join()
    # No one may take an answer that was lost on the way for one that was never asked for.
    return {command["id"]: answers.get(command["id"]) or dict(_lost(command), chosen=0) for command in commands}


def _lost(command):
    return _failed({"argv": command["alternatives"][0]["argv"], "cut": False, "rc": None, "stdout": "", "seconds": 0.0}, "the reader ran out of memory")


def _pci(device):
    """The PCI address of an RDMA device or a netdev, or None."""
    paths = [os.path.join("/sys/class", kind, device, "device") for kind in ("infiniband", "net")]
    return next((os.path.basename(os.path.realpath(path)) for path in paths if os.path.exists(path)), None)


def _run(command, places):
    """The first alternative that answers; else the first that ran at all; else what is missing."""
    failed, missing = None, []
    for number, alternative in enumerate(command["alternatives"]):
        argv, lacking = _filled(alternative["argv"], places)
        program = next((one for one in (argv[0], alternative.get("needs")) if one and shutil.which(one) is None), None)
        if program is not None:
            lacking = f"{program}: not found on PATH"
        if lacking:
            missing.append(lacking)
            continue
        result = dict(_once(argv, command["timeout"]), chosen=number)
        if result["status"] == "ran" and result["rc"] in alternative["rc"]:
            return result
        failed = failed or result
    nothing = {"status": "missing", "chosen": 0, "rc": None, "stdout": "", "stderr": "; ".join(dict.fromkeys(missing)), "seconds": 0.0, "cut": False}
    return failed or dict(nothing, argv=command["alternatives"][0]["argv"])


def _filled(argv, places):
    words = []
    for word in argv:
        for token, value in places.items():
            if token in word and value is None:
                return argv, f"{token[5:-1]} has no PCI device in /sys/class/infiniband or /sys/class/net"
            word = word.replace(token, value or "")
        words.append(word)
    return words, None


def _once(argv, timeout):
    with _lock:
        turn = _turns.setdefault(tuple(argv), threading.Lock())
    with turn:
        if tuple(argv) not in _results:
            _results[tuple(argv)] = _run_one(argv, timeout)
        return _results[tuple(argv)]


def _run_one(argv, timeout):
    began = time.monotonic()
    result = {"argv": argv, "cut": False, "rc": None, "stdout": "", "stderr": "", "seconds": 0.0}
    try:
        with _starting:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
            _running[process.pid] = process
    except PermissionError as refused:
        return dict(result, status="denied", stderr=str(refused))
    except (OSError, MemoryError) as failed:
        return _failed(result, failed)
    try:
        result.update(_output(process, timeout))
    except (RuntimeError, MemoryError) as failed:
        if _ended(process):
            with _lock:
                _running.pop(process.pid, None)
        return _failed(result, failed)
    return dict(result, seconds=round(time.monotonic() - began, 3))


def _failed(result, failed):
    """A tool that is there and could not be run, for want of processes, threads, memory or open files: it is not missing."""
    return dict(result, status="failed", stderr=f"{result['argv'][0]} could not be run: {str(failed) or type(failed).__name__}")


def _output(process, timeout):
    texts = [_Collected(process.stdout), _Collected(process.stderr)]
    try:
        process.wait(timeout)
        status = "ran"
    except subprocess.TimeoutExpired:
        status = "timeout" if _ended(process) else "hung"
    if status != "hung":
        with _lock:
            _running.pop(process.pid, None)
    for text in texts:
        # A daemon that the tool left behind may hold its output open; what is there is taken.
        text.join(GRACE_SECONDS)
    stderr = texts[1].text()
    if status == "hung":
        stderr += f"\nprocess {process.pid} does not end after SIGKILL; it is left behind"
    return {"status": status, "rc": process.returncode, "stdout": texts[0].text(), "stderr": stderr, "cut": texts[0].cut}


def _ended(process):
    """End a command's whole session by its id; False where the kernel does not let it go."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(GRACE_SECONDS / 2)
        except subprocess.TimeoutExpired:
            continue
        # The tool itself has ended; what it started may have ignored the polite signal.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return True
    return False


class _Collected(threading.Thread):
    """Reads one pipe to its end, and keeps no more than MOST_BYTES of it."""

    def __init__(self, pipe):
        super().__init__(daemon=True)
        self.pipe, self.pieces, self.size, self.cut = pipe, [], 0, False
        self.start()

    def run(self):
        while True:
            try:
                piece = os.read(self.pipe.fileno(), 65536)
            except (OSError, ValueError, MemoryError):
                self.cut = True
                return
            if not piece:
                return
            if self.size < MOST_BYTES:
                self.pieces.append(piece)
                self.size += len(piece)
            else:
                self.cut = True

    def text(self):
        return b"".join(self.pieces).decode("utf-8", "replace")


def _end_on_signals():
    """A cancelled run ends its tools: each has a session of its own, so nothing else would."""

    def end(number, _frame):
        # Nothing starts any more; this thread itself may be at it, and what it has just started only the kernel knows.
        _starting.acquire(timeout=GRACE_SECONDS)
        for pid in {*list(_running), *_children()}:
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        for place in _directories:
            shutil.rmtree(place, ignore_errors=True)
        os._exit(128 + number)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, end)


def _children():
    """The processes that this one has started, as the kernel knows them; none where it does not report."""
    found = []
    for thread in os.listdir("/proc/self/task"):
        found += (_line(f"/proc/self/task/{thread}/children") or "").split()
    return [int(pid) for pid in found]


if __name__ == "__main__":
    # The request follows the program: REQUEST is set by whoever pipes it.
    json.dump(answer(json.loads(globals()["REQUEST"])), sys.stdout)
    sys.stdout.flush()
    # A process hung in the kernel must not hold the answer back.
    os._exit(0)
