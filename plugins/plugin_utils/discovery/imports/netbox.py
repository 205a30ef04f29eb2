# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NetBox: devices with role, rack, platform and address, and cables from interface to interface, through patch panels where there are any.

By pynetbox; a cable's ends are what NetBox itself traced (``connected_endpoints``, since NetBox 3.3).
"""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Mapping

from ...text.shortened import shortened
from .listing import ImportFailed, ListedCable, ListedNode, Listing, medium_of, metres_of

Record = dict[str, t.Any]
# What ends a cable of a pod; a console, a power outlet and a circuit do not.
INTERFACE = "dcim.interface"


def read_netbox(url: str, token: str, filters: Mapping[str, t.Any], verify: bool = True) -> Listing:
    """The devices that the filters select (``{"site": "dc1", "tag": "pod1"}``) and the cables between them.

    Raises ImportFailed where NetBox refuses or is not reached.
    """
    try:
        import pynetbox
        import requests
    except ImportError:
        raise ImportFailed("NetBox is read with pynetbox on the controller: pip install pynetbox") from None
    session = requests.Session()
    session.verify = verify
    box = pynetbox.api(url, token=token)
    box.http_session = session
    try:
        devices = _all(box.dcim.devices, filters)
        names = {str(one["name"]): one for one in devices if one.get("name")}
        if not names:
            raise ImportFailed(f"NetBox has no device with {dict(filters)}")
        # The ids, since an interface cannot be selected by what its device is selected by, such as a role or a tag.
        ids = [one["id"] for one in names.values()]
        interfaces = [row for start in range(0, len(ids), 50) for row in _all(box.dcim.interfaces, {"device_id": ids[start : start + 50], "cabled": True})]
        cable_ids = sorted({one["cable"]["id"] for one in interfaces if one.get("cable")})
        cables = [row for start in range(0, len(cable_ids), 50) for row in _all(box.dcim.cables, {"id": cable_ids[start : start + 50]})]
    except pynetbox.RequestError as error:
        raise ImportFailed(f"NetBox refused: {shortened(' '.join(str(error.error).split()), 200)}") from None
    except requests.RequestException as error:
        raise ImportFailed(f"NetBox was not reached at {url}: {shortened(' '.join(str(error).split()), 200)}") from None
    found = Listing({name: _node(one) for name, one in names.items()})
    _join(found, interfaces, {one["id"]: one for one in cables})
    return found


def _all(endpoint: t.Any, filters: Mapping[str, t.Any]) -> list[Record]:
    return [dict(one) for one in (endpoint.filter(**filters) if filters else endpoint.all())]


def _node(device: Record) -> ListedNode:
    address = str((device.get("primary_ip") or {}).get("address") or "").partition("/")[0]
    # Up to NetBox 3 it was device_role.
    role = device.get("role") or device.get("device_role") or {}
    words = {key: str((device.get(key) or {}).get(called) or "") for key, called in (("platform", "slug"), ("rack", "name"))}
    return ListedNode(str(device["name"]), str(role.get("slug") or ""), address, words["platform"], words["rack"])


def _join(found: Listing, interfaces: list[Record], cables: Mapping[int, Record]) -> None:
    """Each cable once, from the interfaces at its ends."""
    known: dict[tuple[str, str], tuple[tuple[str, str], int | None]] = {}
    for one in interfaces:
        near = (str(one["device"]["name"]), str(one["name"]))
        far = one.get("connected_endpoints") or []
        if len(far) != 1 or str(one.get("connected_endpoints_type")) != INTERFACE or one.get("connected_endpoints_reachable") is False:
            found.left_out.append(f"{near[0]} {near[1]}: its cable does not lead to one interface" + (f" but to {len(far)}" if len(far) > 1 else ""))
            continue
        end = (str((far[0].get("device") or {}).get("name")), str(far[0].get("name")))
        known[near] = (end, (one.get("cable") or {}).get("id"))
    led_to = Counter(end for end, _cable in known.values())
    for near, (far_end, cable) in known.items():
        if led_to[far_end] > 1:
            shared = f"{far_end[0]} {far_end[1]}, as those of {led_to[far_end]} interfaces do"
            found.left_out.append(f"{near[0]} {near[1]}: its cable leads to {shared}: a split cable needs an interface for each of its ends")
        elif far_end[0] not in found.nodes:
            found.left_out.append(f"{near[0]} {near[1]}: leads to {far_end[0]} {far_end[1]}, which was not selected")
        elif near <= far_end or far_end not in known:
            own = cables.get(cable or -1, {})
            direct = far_end in known and known[far_end][1] == cable
            length = metres_of(own.get("length"), str(_value(own.get("length_unit")))) if direct else None
            found.cables.append(ListedCable(near, far_end, medium_of(_value(own.get("type"))), length))


def _value(choice: t.Any) -> str:
    """A choice of NetBox: its value, with or without a label beside it."""
    return str((choice.get("value") if isinstance(choice, dict) else choice) or "")
