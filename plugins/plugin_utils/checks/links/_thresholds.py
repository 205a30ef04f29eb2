# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One reported number of a port against the value that warns and the value that fails, alike on Ethernet and InfiniBand."""

from __future__ import annotations

import typing as t

from .. import Finding
from ..place import at_port


def hot(port: str, celsius: float | None, warn: float, most: float) -> t.Iterator[Finding]:
    """The temperature of a port's module, in degrees C; None is not reported."""
    where, expected = at_port(port, "temperature"), f"below {warn:g} degrees C ({most:g}: fail)"
    if celsius is None:
        yield Finding(where, expected, "not reported", "unknown")
    elif celsius >= warn:
        yield Finding(where, expected, f"{celsius:g} degrees C", None if celsius >= most else "warn")


def bit_errors_before_fec(port: str, rate: float | None, expected: str, warn: float, most: float) -> t.Iterator[Finding]:
    """The share of a port's bits that came wrong before they were corrected; None is not reported."""
    if rate is None:
        yield Finding(at_port(port), expected, "not reported", "unknown")
    elif rate > warn:
        yield Finding(at_port(port), expected, f"{rate:g}", None if rate > most else "warn")
