# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Milliseconds of one parse of a 64-port table of each platform, and of loading every reading."""

from __future__ import annotations

import subprocess
import sys
import timeit

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.model import Port, Switch
from ansible_collections.gpufabric.pyramid.tests.simulated_pod.render import eos, sonic

TIMES = 50
LOAD = """
import time
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings.parsing import preload
began = time.process_time()
preload()
print(time.process_time() - began)
"""


def switch(prefix: str, ending: str) -> Switch:
    """A switch of 64 ports."""
    ports = [
        Port(f"{prefix}{number * 8 if not ending else number + 1}{ending}", f"gpu{number:02}", "ens1", "host", "00:1c:73:00:00:01") for number in range(64)
    ]
    return Switch("leaf01", "leaf", "eos", 65101, 0, "10.0.0.1", "00:1c:73:00:00:01", ports, [], [])


def main() -> None:
    """Print one line a table."""
    tables = {
        ("interface_status", "eos"): eos.status(switch("Ethernet", "/1")),
        ("interface_errors", "eos"): eos.errors(switch("Ethernet", "/1"), False),
        ("interface_status", "sonic"): sonic.status(switch("Ethernet", "")),
        ("interface_errors", "sonic"): sonic.errors(switch("Ethernet", ""), False),
    }
    for (name, platform), text in tables.items():
        rows = len(parse(name, platform, text))
        taken = min(timeit.repeat(lambda name=name, platform=platform, text=text: parse(name, platform, text), number=TIMES, repeat=3)) / TIMES
        print(f"{name} on {platform}: {rows} rows in {taken * 1000:.2f} ms")
    output = subprocess.run([sys.executable, "-c", LOAD], text=True, capture_output=True, check=True).stdout
    print(f"loading every reading, once a controller: {float(output):.2f} s CPU")


if __name__ == "__main__":
    main()
