# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One table of the files that ibdiagnet writes of an InfiniBand subnet, as rows of JSON.

A whole program of the standard library: hosts run it as it is. ibdiagnet writes into a new directory, so that no older file of another run is read. Nothing
here interprets the values.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile

SECONDS = 100
# ibdiagnet ends with 1 where it found errors in the fabric.
ANSWERS = (0, 1)
# By the name of a table: the options with which ibdiagnet writes it, and the columns that are printed.
TABLES = {
    "links": (("--get_phy_info",), ("#IB", "GUID", "Sta", "Raw BER")),
    "media": (("--get_cable_info",), ("NodeGuid", "PortNum", "TypeDesc", "LengthCopperOrActive")),
    "modules": (("--get_cable_info",), ("NodeGuid", "PortNum", "Temperature")),
    "routing": (("--routing", "--r_opt=dump_only"), ("NodeGUID", "e")),
}
SECTIONS = {"media": "CABLE_INFO", "modules": "CABLE_INFO", "routing": "AR_INFO"}


def written(directory, name, said):
    """The lines of a file that ibdiagnet has written; ends the program with its last words where it has not."""
    try:
        with open(os.path.join(directory, name), encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        raise SystemExit(f"ibdiagnet wrote no {name}: {said}") from None


def links(lines):
    """The cells of net_dump_ext by heading: separated by colons, of which the description of a node, the last one, may have some of its own."""
    heading = None
    for line in lines:
        if heading is None and line.split(":")[0].strip() == "Ty":
            heading = [cell.strip() for cell in line.split(":")]
        elif heading is not None and line.strip() and not line.startswith("#"):
            yield dict(zip(heading, (cell.strip() for cell in line.split(":", len(heading) - 1))))
    if heading is None:
        raise SystemExit("ibdiagnet2.net_dump_ext has no heading")


def section(lines, name):
    """The rows of a section of db_csv by heading."""
    if f"START_{name}" not in lines:
        raise SystemExit(f"ibdiagnet2.db_csv has no section {name}")
    first = lines.index(f"START_{name}") + 1
    if f"END_{name}" not in lines[first:]:
        raise SystemExit(f"the section {name} of ibdiagnet2.db_csv is cut off")
    return csv.DictReader(lines[first : lines.index(f"END_{name}", first)], skipinitialspace=True)


def rows_of(table, device):
    """The rows of a table, with the columns that are printed; ports without a link are left out."""
    options, columns = TABLES[table]
    with tempfile.TemporaryDirectory() as directory:
        argv = ["ibdiagnet", "-i", device, "-p", "1", *options, "-o", directory]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL, errors="replace", check=False)
        said = (done.stderr.strip() or done.stdout.strip())[-200:]
        if done.returncode not in ANSWERS:
            raise SystemExit(f"{' '.join(argv[:-2])} ended with status {done.returncode}: {said}")
        lines = written(directory, "ibdiagnet2.db_csv" if table in SECTIONS else "ibdiagnet2.net_dump_ext", said)
    rows = []
    for row in section(lines, SECTIONS[table]) if table in SECTIONS else links(lines):
        if None in row or [name for name in columns if row.get(name) is None]:
            raise SystemExit(f"ibdiagnet wrote a row of {table} that lacks one of {', '.join(columns)}: {list(row.values())}"[:300])
        if row.get("Sta") != "DOWN":
            rows.append({name: row[name].strip() for name in columns})
    return rows


def main():
    """Print the rows."""
    try:
        rows = rows_of(sys.argv[1], sys.argv[2])
    except subprocess.TimeoutExpired as slow:
        raise SystemExit(f"{' '.join(slow.cmd[:-2])} took longer than {SECONDS} s") from None
    sys.stdout.write(json.dumps({"rows": rows}) + "\n")


if __name__ == "__main__":
    main()
