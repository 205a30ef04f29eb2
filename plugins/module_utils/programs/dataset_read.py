# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast this host reads the files of a dataset from its storage, past its own page cache, and how much room is left there.

A whole program of the standard library; it writes nothing. fio reads where it is installed, else threads of this program do. It
prints one JSON document.
"""

from __future__ import annotations

import argparse
import errno
import itertools
import json
import mmap
import os
import shutil
import subprocess
import sys
import threading
import time

BLOCK = 1 << 20
# So many files of a block or more are read, and no more names than this are looked at to find them.
FILES, NAMES = 64, 20000
# What fio may take beyond its time to open its files and to sum up.
BESIDE_SECONDS = 30


def files_below(path):
    """The first files of a block or more below a directory, in the order of their names; symbolic links are not followed."""
    found = []
    names = itertools.chain.from_iterable(((place, name) for name in sorted(files)) for place, _directories, files in os.walk(path))
    for place, name in itertools.islice(names, NAMES):
        file = os.path.join(place, name)
        try:
            large = os.path.isfile(file) and not os.path.islink(file) and os.path.getsize(file) >= BLOCK
        except OSError:
            continue
        if large:
            found.append(file)
        if len(found) == FILES:
            break
    return found


def shares(files, readers):
    """The files of each reader; where there are fewer files, some are read by several."""
    return [files[number::readers] or [files[number % len(files)]] for number in range(readers)]


def by_fio(files, readers, seconds):
    """What fio reads a second, in bytes; raises ValueError with its words where it could not read."""
    argv = ["fio", "--readonly", "--rw=read", "--direct=1", "--ioengine=psync", f"--bs={BLOCK}", "--time_based", f"--runtime={seconds}"]
    argv += ["--group_reporting", "--output-format=json"]
    for reader, own in enumerate(shares(files, readers)):
        argv += [f"--name=reader{reader}", "--filename=" + ":".join(name.replace("\\", "\\\\").replace(":", "\\:") for name in own)]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + BESIDE_SECONDS, check=False)
    # It prints warnings before the document.
    printed = done.stdout[done.stdout.find("{") :]
    if done.returncode or not printed:
        raise ValueError((done.stderr or done.stdout).strip()[-300:] or f"fio ended with {done.returncode}")
    return float(json.loads(printed)["jobs"][0]["read"]["bw_bytes"])


class Reader(threading.Thread):
    """Reads its files over and over until the time is over."""

    def __init__(self, files, until, flags):
        super().__init__(daemon=True)
        self.files, self.until, self.flags, self.bytes, self.error = files, until, flags, 0, None

    def run(self):
        """Count what is read, or keep the words of what went wrong."""
        try:
            # A mapping begins at a page, as direct reads demand.
            with mmap.mmap(-1, BLOCK) as block:
                for name in itertools.cycle(self.files):
                    if not self._read(name, block):
                        return
        except OSError as refused:
            self.error = refused

    def _read(self, name, block):
        handle = os.open(name, os.O_RDONLY | self.flags)
        try:
            while time.monotonic() < self.until:
                count = os.readv(handle, [block])
                self.bytes += count
                if count < BLOCK:
                    return True
            return False
        finally:
            os.close(handle)


def by_threads(files, readers, seconds, direct):
    """What threads read a second, in bytes; raises OSError where one could not read."""
    began = time.monotonic()
    running = [Reader(own, began + seconds, os.O_DIRECT if direct else 0) for own in shares(files, readers)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    for one in running:
        if one.error is not None:
            raise one.error
    return sum(one.bytes for one in running) / (time.monotonic() - began)


def measured(files, readers, seconds):
    """By what was read, and how many bytes a second."""
    if shutil.which("fio"):
        return "fio", by_fio(files, readers, seconds)
    try:
        return "direct reads", by_threads(files, readers, seconds, True)
    except OSError as refused:
        if refused.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise
        # A file system without direct reads: its rate may be that of this host's memory, and is reported as such.
        return "the page cache", by_threads(files, readers, seconds, False)


def document(path, readers, seconds):
    """What was found and measured; ``error`` says why it was not."""
    result = {"program": "dataset_read", "path": path, "by": None, "gbyte_s": None, "files": 0, "free_gbyte": None, "error": None}
    try:
        space = os.statvfs(path)
        result["free_gbyte"] = space.f_bavail * space.f_frsize / 1e9
        files = files_below(path)
        result["files"] = len(files)
        if not files:
            raise ValueError(f"no file of {BLOCK} bytes or more is below {path}")
        result["by"], rate = measured(files, readers, seconds)
        result["gbyte_s"] = rate / 1e9
    except (OSError, ValueError, LookupError, subprocess.TimeoutExpired) as words:
        result["error"] = str(words)
    return result


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--path", required=True)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--readers", type=int, default=8)
    given = parser.parse_args()
    result = document(given.path, given.readers, given.seconds)
    sys.stdout.write(json.dumps(result) + "\n")
    return 1 if result["error"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
