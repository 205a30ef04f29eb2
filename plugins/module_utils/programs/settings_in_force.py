# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables that ranks run with beyond those that they were given: of the files that NCCL reads by itself, and of libraries below it.

NCCL logs a variable when it uses it; a run that fails before that would not tell which one made it fail.
"""

from __future__ import annotations

import os
import re

# NCCL takes the user's file first, and of each file what the environment does not have.
USERS_FILE, SYSTEMS_FILE = "~/.nccl.conf", "/etc/nccl.conf"
# Of libfabric, UCX, Gloo and the plugin of AWS; those of NCCL and RCCL that ranks were not given do not reach them.
PREFIXES = ("FI_", "UCX_", "GLOO_", "OFI_NCCL_")
LINE = re.compile(r"^\s*(?P<name>[A-Z][A-Z0-9_]{1,80})=(?P<value>[^\s\"]{1,200})\s*$")
MOST_BYTES, MOST = 65536, 64


def settings(environment):
    """Each in the words with which NCCL logs one, in the order of names; environment: that of the ranks."""
    found = {name: (value, "environment") for name, value in environment.items() if name.startswith(PREFIXES)}
    for file in (environment.get("NCCL_CONF_FILE") or USERS_FILE, SYSTEMS_FILE):
        for name, value in _of_file(file):
            if name not in environment:
                found.setdefault(name, (value, file))
    return [f"{name} set by {by} to {_one_word(value)}" for name, (value, by) in sorted(found.items())[:MOST]]


def _of_file(path):
    try:
        with open(os.path.expanduser(path), encoding="utf-8", errors="replace") as file:
            lines = file.read(MOST_BYTES).splitlines()
    except OSError:
        return []
    return [(match["name"], match["value"]) for match in map(LINE.match, lines) if match]


def _one_word(value):
    return re.sub(r"[\s\"\\]+", "_", value)[:200] or "nothing"
