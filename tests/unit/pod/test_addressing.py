# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses of either family."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.modules.roce_gids import gid_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.addressing import bare, family_of, gid_family, is_link_local


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("10.51.0.1/24", "10.51.0.1"), ("FD00:51:0:0::1/64", "fd00:51::1"), ("fe80::1%swp1", "fe80::1"), ("", ""), ("leaf01", "leaf01")],
)
def test_one_spelling_of_an_address(text: str, wanted: str) -> None:
    assert bare(text) == wanted


def test_the_family_of_an_address() -> None:
    assert (family_of("10.51.0.1/24"), family_of("fd00:51::1/64")) == ("ipv4", "ipv6")
    with pytest.raises(ValueError, match="does not appear"):
        family_of("10.51.0.300")


def test_an_address_of_one_link() -> None:
    assert is_link_local("fe80::1/64") and is_link_local("169.254.0.1") and not is_link_local("fd00::1") and not is_link_local("leaf01")


@pytest.mark.parametrize(
    ("gid", "family"),
    [
        ("0000:0000:0000:0000:0000:ffff:0a33:0001", "ipv4"),
        ("fd00:0051:0000:0000:0000:0000:0000:0001", "ipv6"),
        ("fe80:0000:0000:0000:0eee:bdff:fe00:0001", None),
        ("no gid", None),
    ],
)
def test_the_family_of_a_gid(gid: str, family: str | None) -> None:
    assert gid_family(gid) == family


def test_a_gid_is_written_as_sysfs_has_it() -> None:
    assert gid_of("10.51.0.1") == "0000:0000:0000:0000:0000:ffff:0a33:0001"
    assert gid_of("fd00:51::1") == "fd00:0051:0000:0000:0000:0000:0000:0001"
