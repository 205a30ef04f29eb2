# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schema of the history, which is documented here: any program that reads SQLite may use the file.

Times are whole seconds since the epoch, UTC. Rows are only added: triggers refuse to change or to delete one.
"""

from __future__ import annotations

VERSION = 1
# "GPFH": what a file says of itself in its header, so that no other database is taken for a history.
APPLICATION_ID = 0x47504648
TABLES = {
    "entry": """
        id INTEGER PRIMARY KEY,
        pod TEXT NOT NULL,                -- pod_name
        source TEXT NOT NULL,             -- run, node_check or patrol
        name TEXT NOT NULL,               -- of a run its id, of a node check its time
        node TEXT NOT NULL,               -- the one that checked itself; '' of what judged several
        time INTEGER NOT NULL,            -- when it ended
        version TEXT NOT NULL,            -- of the collection
        verdict TEXT NOT NULL,            -- go, no_fault_seen or no_go of a run; OK, FAIL or UNKNOWN of a node check
        digest TEXT NOT NULL,             -- of plan and expectations
        UNIQUE (pod, source, name, node)""",
    # The worst verdict of a node at a layer, also where it is a pass: without it nothing would be known to have been good.
    "outcome": """
        entry INTEGER NOT NULL REFERENCES entry (id),
        layer TEXT NOT NULL,
        node TEXT NOT NULL,
        verdict TEXT NOT NULL             -- pass, warn, unknown or fail""",
    # What was not a pass. place: the port, rail, GPU or lane, as the finding names it.
    "finding": """
        entry INTEGER NOT NULL REFERENCES entry (id),
        layer TEXT NOT NULL,
        "check" TEXT NOT NULL,
        node TEXT NOT NULL,
        place TEXT NOT NULL,
        verdict TEXT NOT NULL,            -- warn, unknown or fail
        expected TEXT NOT NULL,
        actual TEXT NOT NULL""",
    # What was measured. place: with the node, and what else tells it from the others, such as port and lane.
    "number": """
        entry INTEGER NOT NULL REFERENCES entry (id),
        metric TEXT NOT NULL,
        node TEXT NOT NULL,
        port TEXT NOT NULL,               -- '' of what is no port's
        place TEXT NOT NULL,
        value REAL NOT NULL,
        unit TEXT NOT NULL,
        low REAL,                         -- the limits that it was judged by, where it has some
        high REAL""",
    # What a node is made of. A row is written when it differs from the last one of its place, so each is the first sight of it.
    "part": """
        entry INTEGER NOT NULL REFERENCES entry (id),
        node TEXT NOT NULL,
        kind TEXT NOT NULL,               -- software, gpu, optic or cable
        place TEXT NOT NULL,              -- the package, the GPU's PCI address, or the port
        value TEXT NOT NULL               -- the version, the GPU's UUID, vendor, part and serial number, or the far end by the wiring plan""",
}
INDEXES = {
    "outcome_of": "outcome (entry, node)",
    "finding_of": "finding (entry, node)",
    "number_of": "number (metric, place, entry)",
    "part_of": "part (node, kind, place, entry)",
    "entry_at": "entry (pod, time)",
}


def statements() -> list[str]:
    """What makes an empty database a history."""
    made = [f"CREATE TABLE {name} ({columns}\n)" for name, columns in TABLES.items()]
    made += [f"CREATE INDEX {name} ON {columns}" for name, columns in INDEXES.items()]
    for name in TABLES:
        for act in ("UPDATE", "DELETE"):
            refused = "BEGIN SELECT RAISE(ABORT, 'the history is append-only'); END"
            made.append(f"CREATE TRIGGER {name}_no_{act.lower()} BEFORE {act} ON {name} {refused}")
    return [*made, f"PRAGMA application_id = {APPLICATION_ID}", f"PRAGMA user_version = {VERSION}"]
