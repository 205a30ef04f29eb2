# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that are virtual machines, with GPUs and NICs of their hypervisor passed through to them."""

from __future__ import annotations

import typing as t

# The value of pod_virtualization of such hosts.
GUEST = "guest"
# systemd's word where there is no hypervisor.
BARE_METAL = "none"


def hypervisor_of(virtualization: t.Sequence[t.Mapping[str, t.Any]] | None) -> str:
    """By which hypervisor a host is a virtual machine; nothing on bare metal and where it is not reported."""
    found = str(virtualization[0]["hypervisor"]) if virtualization else BARE_METAL
    return "" if found == BARE_METAL else found
