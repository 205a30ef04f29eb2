# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who configures a netdev and how a host boots, by its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.module_utils import network_stack

NETDEV = "enp79s0np0"
FILES = [
    ("netplan", "etc/netplan/50-rails.yaml", f"network:\n  ethernets:\n    {NETDEV}:\n      mtu: 9000\n"),
    ("netplan", "run/netplan/90.yaml", f'network:\n  ethernets:\n    "{NETDEV}":\n      mtu: 9000\n'),
    ("networkd", "etc/systemd/network/50-rails.network", "[Match]\nName=eno1 enp*np0\n"),
    ("networkmanager", "etc/NetworkManager/system-connections/rail.nmconnection", f"[connection]\ninterface-name={NETDEV}\n"),
    ("ifupdown", "etc/network/interfaces.d/rails", f"auto {NETDEV}\niface {NETDEV} inet static\n"),
    ("ifcfg", f"etc/sysconfig/network-scripts/ifcfg-{NETDEV}", "ONBOOT=yes\n"),
]


def put(root: Path, place: str, text: str) -> None:
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).write_text(text)


@pytest.mark.parametrize(("kind", "place", "text"), FILES, ids=[place for _kind, place, _text in FILES])
def test_the_file_that_names_it_tells_who(tmp_path: Path, kind: str, place: str, text: str) -> None:
    assert network_stack.manager(str(tmp_path), NETDEV) == (None, None)
    put(tmp_path, place, text)
    assert network_stack.manager(str(tmp_path), NETDEV) == (kind, f"/{place}")
    assert network_stack.manager(str(tmp_path), "enp79s0np") == (None, None)


def test_what_writes_the_other_s_files_comes_first(tmp_path: Path) -> None:
    put(tmp_path, "run/systemd/network/10-netplan-enp79s0np0.network", f"[Match]\nName={NETDEV}\n")
    put(tmp_path, *FILES[0][1:])
    assert network_stack.manager(str(tmp_path), NETDEV)[0] == "netplan"


def test_a_match_of_everything_else_is_none(tmp_path: Path) -> None:
    put(tmp_path, "etc/systemd/network/50.network", "[Match]\nName=!enp* eno*\n")
    assert network_stack.manager(str(tmp_path), NETDEV) == (None, None)


@pytest.mark.parametrize(
    ("release", "files", "loader"),
    [
        ("ID=ubuntu\nID_LIKE=debian\n", ["etc/default/grub"], "update_grub"),
        ("ID=debian\n", ["etc/default/grub"], "update_grub"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', ["etc/default/grub"], "grubby"),
        ("ID=opensuse-leap\nID_LIKE='suse opensuse'\n", ["etc/default/grub"], "grub_mkconfig"),
        ("ID=ubuntu\n", ["etc/kernel/cmdline"], "kernel_cmdline"),
        ("ID=ubuntu\n", [], None),
    ],
)
def test_how_the_kernel_gets_its_command_line(tmp_path: Path, release: str, files: list[str], loader: str | None) -> None:
    put(tmp_path, "etc/os-release", release)
    for place in files:
        put(tmp_path, place, "")
    assert network_stack.boot_loader(str(tmp_path)) == loader
