# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of NIC drivers."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import nic_drivers as drivers

CHECKS = Path(__file__).parents[3] / "plugins" / "plugin_utils" / "checks"


def test_every_table_names_its_kernel_driver_once() -> None:
    named = [name for table in drivers.nic_drivers() for name in table.drivers]
    assert {"mlx5_core", "bnxt_en", "ionic", "ice"} <= set(named)
    assert len(named) == len(set(named))
    assert len({table.rank for table in drivers.nic_drivers()}) == len(drivers.nic_drivers())


@pytest.mark.parametrize(("kind", "reading"), [("netdev", "nic_counters"), ("device", "rdma_counters")])
def test_a_run_keeps_every_counter_of_a_table(kind: str, reading: str) -> None:
    for table in drivers.nic_drivers():
        for meaning, names in getattr(table, kind).items():
            for name in names if meaning not in drivers.PORT else ():
                spelt = name.format(p=3)
                assert any(fnmatch.fnmatchcase(spelt, pattern) for pattern in catalogue()[reading].keep), spelt


def test_every_error_of_a_table_is_a_column_of_the_errors_of_a_port() -> None:
    columns = (catalogue()["interface_errors"].platforms["linux"][0].pivot or {})["columns"]
    for table in drivers.nic_drivers():
        for meaning in {*drivers.PORT, "bit_errors", "symbol_errors", "tx_errors", "link_losses"} & table.netdev.keys():
            assert {columns[name] for name in table.netdev[meaning]} == {"fcs_errors" if meaning == "bit_errors" else meaning}


def test_names_are_by_rank_and_without_repeats() -> None:
    assert drivers.names_of("rx_bytes") == ("rx_bytes_phy", "rx_vport_rdma_unicast_bytes", "rx_bytes.nic", "octets_rx_ok", "rx_bytes")
    assert all(len(set(names)) == len(names) for names in map(drivers.names_of, sorted(drivers.MEANINGS)))
    with pytest.raises(KeyError, match="no counter means"):
        drivers.names_of("rx_prio3_pause")


def test_a_table_with_an_unknown_meaning_is_refused(tmp_path: Path) -> None:
    text = "drivers: [x]\nrank: 5\ndescription: x\ntools: []\n"
    text += "rdma_module: x\nnetdev: {pauses: [a]}\ndevice: {}\ncannot_report: {}\ninbox: null\nmap_is_trust: false\n"
    text += "generations: null\nvirtual: null\n"
    path = tmp_path / "x.yml"
    path.write_text(text)
    with pytest.raises(ValueError, match="unknown are pauses"):
        drivers._load(path)
    path.write_text(text.replace("[a]", "a"))
    with pytest.raises(ValueError, match="must be a list"):
        drivers._load(path)


def test_checks_name_no_counter_of_a_driver() -> None:
    """A check asks for a meaning; only words for an operator may name a counter."""
    # A switch's column and a meaning may be spelt as a counter is.
    names = {name for meaning in drivers.MEANINGS for name in drivers.names_of(meaning) if "_" in name} - drivers.MEANINGS
    quoted = re.compile(r"[\"'](?:" + "|".join(map(re.escape, sorted(names))) + r")[\"']")
    found = {path.name: quoted.findall(path.read_text(encoding="utf-8")) for path in CHECKS.rglob("*.py")}
    assert {name: its for name, its in found.items() if its} == {}


@pytest.mark.parametrize(
    ("driver", "version", "name", "lacks"),
    [
        ("mlx5_core", "24.10-0.7.0", "mlx5_core", set()),
        ("mlx5_core", "6.8.0-45-generic", "mlx5_core of the kernel", {"dcqcn_switches"}),
        ("mlx5_core", "5.14.0-427.13.1.el9_4.x86_64", "mlx5_core of the kernel", {"dcqcn_switches"}),
        ("mlx5_core", None, "mlx5_core", set()),
        ("bnxt_en", "6.8.0-45-generic", "bnxt_en", {"firmware_settings", "dcqcn_switches", "dcqcn_parameters"}),
        ("of_tomorrow", "1.0", "of_tomorrow", set()),
    ],
)
def test_what_a_driver_cannot_report_depends_on_its_form(driver: str, version: str | None, name: str, lacks: set[str]) -> None:
    form = drivers.form_of(driver, version)
    assert (form.name, set(form.cannot_report)) == (name, lacks)


def test_a_virtual_function_is_a_form_of_its_own() -> None:
    own = [{"netdev": netdev, "driver": "mlx5_core", "version": version} for netdev, version in (("a", "24.10-0.7.0"), ("b", "6.8.0-45-generic"), ("c", "1"))]
    functions = [{"netdev": netdev, "vendor": vendor, "device": "0x101e"} for netdev, vendor in (("a", "0x15b3"), ("b", "0x15b3"), ("c", "0x1dd8"))]
    forms = drivers.forms_of(own, functions)
    assert [forms[one].name for one in "abc"] == ["mlx5_core, virtual function", "mlx5_core of the kernel, virtual function", "mlx5_core"]
    assert [forms[one].virtual for one in "abc"] == [True, True, False] and forms["b"].map_is_trust
    assert {"optics", "link_losses", "firmware_settings"} <= set(forms["a"].cannot_report) and not forms["c"].cannot_report
    assert {form.name for form in drivers.forms_of(own[:1], None).values()} == {"mlx5_core"}
    # A driver whose table knows none has none.
    assert drivers.form_of("bnxt_en", "6.8", virtual=True) == drivers.form_of("bnxt_en", "6.8")
