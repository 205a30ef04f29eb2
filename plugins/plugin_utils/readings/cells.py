# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tool's words as typed values: one column of one row."""

from __future__ import annotations

import ipaddress
import math
import re
import typing as t

from .catalogue import Column

SPEED = re.compile(r"^(?:[a-z]+-)?([\d.]+)\s*(T|G|M|K)?(?:b?ps|bit|b/s|Gb/s|bit/s|Gbps|Mbps)?(?:/s)?$", re.IGNORECASE)
PCI = re.compile(r"^(?:PCI:)?(?:([\da-f]{4,8}):)?([\da-f]{2}):([\da-f]{2})(?:\.([0-7]))?$", re.IGNORECASE)
# Several numbers as the first and the last of them.
RANGE = re.compile(r"^(\d{1,5})-(\d{1,5})$")
# A count that C printed with %g.
WHOLE = re.compile(r"^\d(?:\.\d{1,5})?e\+(?:0[6-9]|[1-9]\d)$")
# 00:01:14; 3d02h, 1d02h03m, 01y02w3d; P17DT7H42M42S; 1week(s) 2day(s).
CLOCK = re.compile(r"^(\d+):([0-5]?\d):([0-5]?\d)$")
UNITS = re.compile(
    r"^P?(?=\d|T\d)(?:(\d+)y(?:ear\(s\) ?)?)?(?:(\d+)w(?:eek\(s\) ?)?)?(?:(\d+)d(?:ay\(s\))?)?T?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$", re.IGNORECASE
)
UNIT_SECONDS = (365 * 86400, 7 * 86400, 86400, 3600, 60, 1)
SIZE = re.compile(r"^([\d.,]+)\s*([a-z]*)$", re.IGNORECASE)
# NVUE counts by 1024, Arista and Cisco by 1000.
BYTES_OF = {"": 1, "b": 1, "bytes": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3, "kbytes": 1000, "mbytes": 1000**2}
PER_GBIT = {"T": 1000.0, "G": 1.0, "M": 1e-3, "K": 1e-6}
WORDS = {"yes": True, "on": True, "true": True, "enabled": True, "up": True, "1": True}
WORDS |= {"no": False, "off": False, "false": False, "disabled": False, "down": False, "0": False}
NOT_STATED = {"", "N/A", "n/a", "NA", "--", "-", "[N/A]", "[Not Supported]", "Not reported", "Unknown!"}


def cell(column: Column, value: t.Any) -> t.Any:
    """A value of a column in the column's type; None where an optional one was not reported.

    Raises ValueError for what is not of the type, and for a missing value of a column that must have one.
    """
    if isinstance(value, str):
        value = value.strip()
        if value in NOT_STATED:
            if value and column.stated:
                return None
            if column.type != "str" or not value:
                value = None
    if value is None or (value == [] and column.type not in ("list", "ints")):
        if column.type in ("list", "ints"):
            return None if column.optional else []
        if column.stated or not column.optional:
            raise ValueError(f"a row lacks its {column.name}")
        return None
    try:
        return CONVERT[column.type](value)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"{column.name} is {str(value)[:60]!r}, which is no {column.type}") from None


def _int(value: t.Any) -> int:
    if isinstance(value, str):
        if value.isdecimal():
            return int(value)
        if WHOLE.match(value):
            value = f"{float(value):.0f}"
        return int(value.replace(",", ""), 0) if value.lower().startswith("0x") else int(value.replace(",", ""))
    if isinstance(value, bool) or int(value) != value:
        raise ValueError(value)
    return int(value)


def _float(value: t.Any) -> float:
    number = float(value.replace(",", "") if isinstance(value, str) else value)
    if math.isnan(number):
        raise ValueError(value)
    return number


def _bool(value: t.Any) -> bool:
    return value if isinstance(value, bool) else WORDS[str(value).lower()] if str(value).lower() in WORDS else _refuse(value)


def _refuse(value: t.Any) -> t.NoReturn:
    raise ValueError(value)


def _list(value: t.Any) -> list[str]:
    pieces = re.split(r"[,\s]+", value) if isinstance(value, str) else [str(one) for one in value]
    return [piece for piece in pieces if piece]


def _range(value: str) -> t.Sequence[int]:
    """The numbers of ``24-31``, or the one number that a text is."""
    found = RANGE.match(value)
    if found is None:
        return [_int(value)]
    first, last = int(found[1]), int(found[2])
    return range(first, last + 1) if first <= last else _refuse(value)


def _pci(value: t.Any) -> str:
    """``0000:9b:00.0`` of ``00000000:9B:00.0``, ``PCI:0000:9b:00`` (a GPU is function 0) and ``9b:00.0``."""
    match = PCI.match(str(value))
    if match is None:
        raise ValueError(value)
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function or '0'}".lower()


def _asn(value: t.Any) -> int:
    """4259905537 of ``65001.1``; a plain number is itself."""
    high, dot, low = str(value).partition(".")
    number = (_int(high) << 16) + _int(low) if dot else _int(value)
    if not 0 <= number < 1 << 32 or (dot and _int(low) >= 1 << 16):
        raise ValueError(value)
    return number


def _ipv4(value: t.Any) -> str | None:
    """``10.0.0.1`` of itself and of ``::ffff:10.0.0.1`` in any spelling; None of an IPv6 address that is none of IPv4."""
    address = ipaddress.ip_address(str(value))
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else address
    return str(mapped) if mapped is not None else None


def _duration(value: t.Any) -> float:
    """Seconds of ``01:02:03`` and of ``3d02h``, ``01y02w3d`` or ``P17DT7H42M42S``, each unit as far as it is given."""
    text = str(value).strip()
    if found := CLOCK.match(text):
        return float(sum(int(number) * unit for number, unit in zip(found.groups(), UNIT_SECONDS[3:])))
    if found := UNITS.match(text):
        return float(sum(int(number) * unit for number, unit in zip(found.groups("0"), UNIT_SECONDS)))
    raise ValueError(value)


def _size(value: t.Any) -> float:
    """Bytes of a number, and of ``153.00 KB`` or ``150 kbytes``."""
    match = SIZE.match(str(value).strip())
    if match is None or match[2].lower() not in BYTES_OF:
        raise ValueError(value)
    return round(_float(match[1]) * BYTES_OF[match[2].lower()], 6)


def _speed(value: t.Any) -> float:
    """Gb/s of ``400G``, ``100000M``, ``a-100G``, ``25000Mb/s`` and the like; a bare number is Mb/s, as in the kernel."""
    match = SPEED.match(str(value).strip())
    if match is None:
        raise ValueError(value)
    return float(match[1]) * PER_GBIT[(match[2] or "M").upper()]


CONVERT: dict[str, t.Callable[[t.Any], t.Any]] = {
    "str": str,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "list": _list,
    "ints": lambda value: [number for one in _list(value) for number in _range(one)],
    "speed": _speed,
    "pci": _pci,
    "asn": _asn,
    "ipv4": _ipv4,
    "duration": _duration,
    "size": _size,
}
