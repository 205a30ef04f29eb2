# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory the running process of each systemd service may lock, which is what the jobs that it starts inherit.

A whole program of the standard library: hosts run it as it is. A service that was not restarted since its unit was changed still has its old limit.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

SECONDS = 15
PID = re.compile(r"^MainPID=(\d+)\s*$", re.MULTILINE)
# The soft limit, in bytes.
LIMIT = re.compile(r"^Max locked memory\s+(\S+)", re.MULTILINE)


def main_pid(unit):
    """The process of a service; 0 where it does not run."""
    done = subprocess.run(
        ["systemctl", "show", "-p", "MainPID", "--", unit], capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL, check=False
    )
    found = PID.search(done.stdout)
    if done.returncode != 0 or found is None:
        raise SystemExit(f"systemctl show of {unit} ended with status {done.returncode}: {(done.stderr.strip() or done.stdout.strip())[:200]}")
    return int(found[1])


def limit_of(pid):
    """The limit of a process; None where it cannot be read."""
    try:
        with open(f"/proc/{pid}/limits", encoding="ascii") as file:
            found = LIMIT.search(file.read())
    except OSError:
        return None
    return found[1] if found else None


def main():
    """Print a row for each service that is named."""
    try:
        pids = [(unit, main_pid(unit)) for unit in sys.argv[1:]]
    except subprocess.TimeoutExpired:
        raise SystemExit(f"systemctl show took longer than {SECONDS} s") from None
    rows = [{"unit": unit, "pid": pid, "memlock": limit_of(pid) if pid else None} for unit, pid in pids]
    sys.stdout.write(json.dumps({"rows": rows}) + "\n")


if __name__ == "__main__":
    main()
