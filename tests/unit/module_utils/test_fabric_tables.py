# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that prints tables of ibdiagnet's files, with an ibdiagnet of shell that writes them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import fabric_tables

HEADING = "Ty : # : #IB : GUID : LID : Sta : PhysSta : LWA : LSA : Conn LID (#) : FEC mode : RTR : Raw BER : Effective BER : Symbol BER"
DUMP = f"""# written by a test
# a second line: with a colon

{HEADING} : Symbol Err : Effective Err : Node Desc
SW : 1/1 : 1 : 0x2c5eab0300b80001 : 1 : ACT : LINK UP : 4x : 100 : 7 (3) : RS : NO-RTR : 2.1e-9 : 1e-254 : 1e-254 : 0 : 0 : "MF0;leaf01:MQM9700/U1"
SW : 1/2 : 2 : 0x2c5eab0300b80001 : 1 : DOWN : POLL : 4x : 100 :   : N/A : N/A : N/A : N/A : N/A : N/A : N/A : "MF0;leaf01:MQM9700/U1"
CA : 1   : 1 : 0xb83fd203000001 : 9 : ACT : LINK UP : 4x : 100 : 1 (2) : RS : NO-RTR : N/A : N/A : N/A : N/A : N/A : "gpu01 mlx5_0"
"""
CABLES = """START_CABLE_INFO
NodeGuid,PortGuid,PortNum,Vendor,LengthCopperOrActive,TypeDesc,Temperature
0xa1,0xa1,1,"Some, Inc.","N/A","850 nm VCSEL","54C"
0xa1,0xa1,2,"NA","2 m","Copper cable unequalized","N/A"
END_CABLE_INFO
"""
ROUTING = "START_NODES\nNodeGUID\nEND_NODES\n\nSTART_AR_INFO\nNodeGUID,e,is_arn_sup\n0xa1,1,0\n0xa2,0,0\nEND_AR_INFO\n"


def asked(place: Path, table: str, dump: str = "", database: str = "", last: str = "exit 0") -> subprocess.CompletedProcess[str]:
    """What the program prints beside an ibdiagnet that writes some files into the folder behind -o, and says how it was called."""
    (place / "dump").write_text(dump)
    (place / "database").write_text(database)
    tool = place / "ibdiagnet"
    lines = ["#!/bin/sh", f'echo "$*" > {place}/called', 'while [ "$1" != -o ]; do shift; done']
    lines += [f'[ -s {place}/{mine} ] && cp {place}/{mine} "$2/ibdiagnet2.{its}"' for mine, its in (("dump", "net_dump_ext"), ("database", "db_csv"))]
    tool.write_text("\n".join([*lines, last]) + "\n")
    tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}"}
    argv = [sys.executable, "-SE", str(fabric_tables.__file__), table, "mlx5_0"]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)


def test_links_without_those_that_are_down(tmp_path: Path) -> None:
    done = asked(tmp_path, "links", dump=DUMP, last="exit 1")
    assert done.returncode == 0, done.stderr
    switch, adapter = json.loads(done.stdout)["rows"]
    assert switch == {"#IB": "1", "GUID": "0x2c5eab0300b80001", "Sta": "ACT", "Raw BER": "2.1e-9"}
    assert adapter == {"#IB": "1", "GUID": "0xb83fd203000001", "Sta": "ACT", "Raw BER": "N/A"}
    assert (tmp_path / "called").read_text().startswith("-i mlx5_0 -p 1 --get_phy_info -o /")


def test_sections_of_the_database(tmp_path: Path) -> None:
    modules = json.loads(asked(tmp_path, "modules", database=CABLES).stdout)["rows"]
    assert [(row["PortNum"], row["Temperature"]) for row in modules] == [("1", "54C"), ("2", "N/A")]
    media = json.loads(asked(tmp_path, "media", database=CABLES).stdout)["rows"]
    assert [(row["TypeDesc"], row["LengthCopperOrActive"]) for row in media] == [("850 nm VCSEL", "N/A"), ("Copper cable unequalized", "2 m")]
    routing = json.loads(asked(tmp_path, "routing", database=ROUTING).stdout)["rows"]
    assert routing == [{"NodeGUID": "0xa1", "e": "1"}, {"NodeGUID": "0xa2", "e": "0"}]


@pytest.mark.parametrize(
    ("table", "dump", "database", "last", "words"),
    [
        ("links", "", "", "exit 0", "ibdiagnet wrote no ibdiagnet2.net_dump_ext"),
        ("links", DUMP, "", "echo -E- no such device; exit 3", "ended with status 3: -E- no such device"),
        ("links", DUMP.replace("Ty :", "Type :"), "", "exit 0", "has no heading"),
        ("links", DUMP.replace("Raw BER", "Raw rate"), "", "exit 0", "lacks one of #IB, GUID, Sta, Raw BER"),
        ("links", DUMP[: DUMP.rindex("NO-RTR")], "", "exit 0", "lacks one of"),
        ("media", "", CABLES.replace("TypeDesc", "Type"), "exit 0", "lacks one of NodeGuid, PortNum, TypeDesc, LengthCopperOrActive"),
        ("modules", "", ROUTING, "exit 0", "has no section CABLE_INFO"),
        ("modules", "", CABLES[: CABLES.index("END_")], "exit 0", "is cut off"),
        ("routing", "", ROUTING.replace("0xa2,0,0", "0xa2"), "exit 0", "lacks one of NodeGUID, e"),
        ("routing", "", ROUTING.replace("0xa2,0,0", "0xa2,0,0,7"), "exit 0", "lacks one of NodeGUID, e"),
    ],
)
def test_what_is_no_answer_ends_with_the_reason(table: str, dump: str, database: str, last: str, words: str, tmp_path: Path) -> None:
    done = asked(tmp_path, table, dump, database, last)
    assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr and done.stdout == ""


def test_no_file_of_another_run_is_left_behind(tmp_path: Path) -> None:
    asked(tmp_path, "links", dump=DUMP)
    folder = (tmp_path / "called").read_text().split()[-1]
    assert folder.startswith("/") and not Path(folder).exists()
