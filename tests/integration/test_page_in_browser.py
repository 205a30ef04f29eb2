# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""report.html and history.html in a real Chromium, opened from their files with the network off."""

from __future__ import annotations

import os
import re
import shutil
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import Place, at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.entries import RUN, Entry, FindingRow, Number, Outcome, Part
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.findings import findings_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.store import History
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.history.times import DAY_SECONDS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import Cable, CableEnd
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.plan import Node, Plan
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.history_page import render_history_page
from ansible_collections.gpufabric.pyramid.tests.missing import leave_out
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests import made_run

from .conftest import SMALLEST, Pod, more

pytestmark = pytest.mark.xdist_group("page_in_browser")

MOST_BYTES = 15_000_000
FIRST_PAINT_MS = 2000
NASTY = "</script><script>window.hacked = 1</script><img src=x onerror=window.hacked=1> \u202e"


@pytest.fixture(scope="module")
def chromium() -> t.Iterator[Browser]:
    """Debian's Chromium; playwright brings none."""
    program = shutil.which("chromium")
    if program is None:
        leave_out("the package chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, chromium_sandbox=os.geteuid() != 0)
        yield browser
        browser.close()


@pytest.fixture
def look(chromium: Browser) -> t.Iterator[t.Callable[..., Page]]:
    """Opens a report; at the end nothing may have been complained of, asked for over the network, or opened as a dialog."""
    wrong: list[str] = []
    pages: list[Page] = []

    def opened(report: Path, width: int = 1280, height: int = 900) -> Page:
        page = chromium.new_page(viewport={"width": width, "height": height}, offline=True)
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: wrong.append(f"request: {request.url}") if not request.url.startswith(("file:", "data:")) else None)
        page.goto(report.as_uri())
        pages.append(page)
        return page

    yield opened
    for page in pages:
        page.close()
    assert pages and not wrong, wrong


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a real climb that finds a port at 100G."""
    climb = Pod(tmp_path_factory.mktemp("faulty"), pod_depth="quick", **SMALLEST).climb(simulated_faults="port_at_100g")
    assert climb.rc == 2 and climb.not_well() == {"port_speed": "fail"}, climb.output
    return climb.run / "report.html"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 512 hosts of eight rails, every check of a host and 60 KB of evidence each; two ports are bad."""
    plan = large_plan()
    checks = [
        (layer, check) for layer in made_run.JUDGED for check, declared in REGISTRY[layer].items() if declared.scope == "node" and "host" in declared.kinds
    ]
    hosts = [name for name, node in plan.nodes.items() if node.role == "host"]
    bad = Finding(at_port("ens3"), "connected at 400 Gb/s", "connected at 100 Gb/s")
    verdicts = [
        made_run.verdict(plan, layer, check, host, *([bad] if (check, host) in (("port_speed", "gpu007"), ("port_speed", "gpu400")) else []))
        for layer, check in checks
        for host in hosts
    ]
    book = made_run.make(tmp_path_factory.mktemp("large") / "run", plan, verdicts)
    for number, host in enumerate(hosts):
        counters = "".join(f"     rx_prio{queue % 8}_counter_{queue}: {number * 7919 * queue % 10**12}\n" for queue in range(1200))
        made_run.printed(book, "links", host, "interface_status", f"Speed: 400000Mb/s\n{counters}", ["ethtool", "ens3"])
        pings = [{"source": f"10.0.{number}.1", "target": f"10.0.{other}.1", "rtt_avg_ms": 0.02 + number % 7 / 100} for other in range(0, 512, 2)]
        made_run.result(book, "routing", host, pings=pings)
    made_run.page(book)
    return book.run / "report.html"


def large_plan() -> Plan:
    """512 hosts in 32 racks, eight leaves, eight spines."""
    nodes, cables, groups = {}, [], {}
    common = {**DEFAULTS, "pod_rails": []}
    for number in range(512):
        name, group = f"gpu{number:03}", f"rack_{number // 16:02}"
        rails = [
            {"device": f"mlx5_{rail}", "netdev": f"ens{rail}", "gpu": rail, "leaf": f"leaf{rail}", "address": f"10.{rail}.{number}.1/16"} for rail in range(8)
        ]
        nodes[name] = Node(name, "host", "linux", group, {**common, "pod_rails": rails})
        groups.setdefault(group, []).append(name)
        cables += [Cable(CableEnd(name, f"ens{rail}"), CableEnd(f"leaf{rail}", f"Ethernet{number}"), "dac", 2, 0) for rail in range(8)]
    for leaf in range(8):
        nodes[f"leaf{leaf}"] = Node(f"leaf{leaf}", "leaf", "eos", None, common)
        cables += [Cable(CableEnd(f"leaf{leaf}", f"Uplink{spine}"), CableEnd(f"spine{spine}", f"Ethernet{leaf}"), "optic", 30, 0) for spine in range(8)]
    nodes |= {f"spine{spine}": Node(f"spine{spine}", "spine", "sonic", None, common) for spine in range(8)}
    return Plan(nodes, groups, cables)


def rows(page: Page) -> t.Any:
    """The rows of the table of verdicts."""
    return page.locator("#table tr.row")


def test_the_verdict_is_on_top_and_a_single_finding_is_unfolded(faulty: Path, look) -> None:
    page = look(faulty)
    expect(page.locator("header .verdict")).to_have_text("NO-GO")
    expect(page.locator(".step.closed")).to_contain_text("1 links")
    expect(page.locator(".step.closed .gate.closed")).to_have_text("rack_01")
    finding = page.locator("#findings .entry")
    expect(finding).to_have_count(1)
    expect(finding.get_by_text("replace the one that differs from the plan")).to_be_visible()
    expect(finding.get_by_role("link", name="What port_speed checks")).to_have_attribute("href", re.compile(r"docs/checks\.md#port_speed$"))
    finding.locator("summary").click()
    expect(finding.get_by_text("replace the one that differs from the plan")).to_be_hidden()


def test_a_verdict_folds_out_to_what_the_switch_printed(faulty: Path, look) -> None:
    page = look(faulty)
    expect(rows(page)).to_have_count(1)
    rows(page).press("Enter")
    evidence = page.locator("details.evidence", has_text="interface_status of leaf03")
    evidence.locator("summary").click()
    expect(evidence.locator("pre.command")).to_contain_text("$ show interfaces status")
    printed = evidence.locator("pre:not(.command)").inner_text()
    assert any("connected" in line and "100G" in line for line in printed.splitlines()), printed
    rows(page).click()
    expect(evidence).to_have_count(0)


def test_filters_leave_what_they_say(faulty: Path, look) -> None:
    page = look(faulty)
    page.get_by_label("Verdict").select_option("")
    page.get_by_label("Layer").select_option("links")
    expect(page.locator("#count")).to_contain_text("page 1 of")
    page.get_by_label("Gate group").select_option("rack_02")
    expect(page.locator("#count")).not_to_contain_text("page")
    assert rows(page).count() > 8
    assert {row.locator("td").nth(1).inner_text() for row in rows(page).all()} == {"links"}
    assert {row.locator("td").nth(3).inner_text() for row in rows(page).all()} <= {f"gpu0{number}" for number in range(4, 7)} | {"rack_02"}
    page.get_by_label("Check").select_option("port_speed")
    expect(rows(page)).to_have_count(3)
    page.get_by_label("Search").fill("GPU06")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("Search").fill("no such host")
    expect(rows(page)).to_have_count(0)
    expect(page.locator("#count")).to_contain_text("0 of")
    page.locator("#findings a[data-check=port_speed]").click()
    expect(rows(page)).to_have_count(1)


def colours(page: Page, place: str) -> int:
    """How many colours a chart has painted."""
    script = """place => new Set(new Uint32Array(document.querySelector(place + ' canvas').getContext('2d')
        .getImageData(0, 0, 600, 400).data.buffer)).size"""
    return page.evaluate(script, place)


def test_topology_and_charts_are_painted_when_they_come_into_sight(faulty: Path, look) -> None:
    page = look(faulty)
    for place in ("#topology figure", "#chart-optics", "#chart-round_trips"):
        page.locator(place).scroll_into_view_if_needed()
        expect(page.locator(place)).to_have_attribute("data-drawn", "yes")
        assert colours(page, place) > 5, place


def test_hostile_text_does_nothing(plan_of_two: Plan, tmp_path: Path, look) -> None:
    bad = made_run.verdict(plan_of_two, "links", "port_speed", "gpu01", Finding(Place(NASTY), NASTY, NASTY), words=NASTY)
    book = made_run.make(tmp_path / "run", plan_of_two, [bad])
    made_run.printed(book, "links", "gpu01", "interface_status", NASTY, ["ethtool", NASTY])
    made_run.page(book)
    page = look(book.run / "report.html")
    rows(page).click()
    page.locator("details.evidence summary").click()
    expect(page.locator("details.evidence pre:not(.command)")).to_contain_text("onerror=window.hacked=1")
    for drawn in page.locator("figure").all():
        drawn.scroll_into_view_if_needed()
    assert page.evaluate("window.hacked") is None


@pytest.fixture
def plan_of_two() -> Plan:
    """A host whose names are hostile too."""
    rail = {"device": NASTY, "netdev": NASTY, "gpu": 0, "leaf": "leaf01", "address": "10.0.0.1/24"}
    host = Node("gpu01", "host", "linux", NASTY, {**DEFAULTS, "pod_rails": [rail]})
    leaf = Node("leaf01", "leaf", "eos", None, {**DEFAULTS, "pod_rails": []})
    return Plan({"gpu01": host, "leaf01": leaf}, {NASTY: ["gpu01"]}, [Cable(CableEnd("gpu01", NASTY), CableEnd("leaf01", NASTY), "dac", 1, 0)])


@pytest.mark.exhaustive
def test_512_hosts_fit_in_fifteen_megabytes_and_paint_within_two_seconds(large: Path, look) -> None:
    assert large.stat().st_size < MOST_BYTES
    page = look(large)
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert painted < FIRST_PAINT_MS, painted
    expect(page.locator("#count")).to_contain_text("2 of")
    page.get_by_label("Verdict").select_option("pass")
    expect(page.locator("#count")).to_contain_text("page 1 of")
    page.get_by_role("button", name="Later").click()
    expect(page.locator("#count")).to_contain_text("page 2 of")
    page.get_by_label("Search").fill("gpu511")
    page.get_by_label("Check").select_option("port_speed")
    expect(rows(page)).to_have_count(1)
    rows(page).click()
    page.locator("details.evidence summary", has_text="interface_status").click()
    expect(page.locator("details.evidence pre:not(.command)")).to_contain_text("rx_prio7_counter_1199")
    page.locator("#chart-round_trips").scroll_into_view_if_needed()
    expect(page.locator("#chart-round_trips")).to_have_attribute("data-drawn", "yes")


@pytest.mark.parametrize("report", ["faulty", more("large")])
def test_a_telephone_needs_no_sideways_scrolling(report: str, request: pytest.FixtureRequest, look) -> None:
    page = look(request.getfixturevalue(report), width=400, height=800)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_print_leaves_out_what_only_a_screen_needs(faulty: Path, look) -> None:
    page = look(faulty)
    page.emulate_media(media="print")
    expect(page.locator("#filters")).to_be_hidden()
    expect(page.locator("header .verdict")).to_be_visible()
    assert page.pdf().startswith(b"%PDF") and page.locator("figure:not([data-drawn])").count() == 0


def test_without_its_program_the_page_still_says_the_verdict(faulty: Path, chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(faulty.as_uri())
    expect(page.locator("header .verdict")).to_have_text("NO-GO")
    expect(page.locator("#checklist")).to_contain_text("leaf03 Ethernet3/1: connected at 100 Gb/s")
    expect(page.get_by_text("everything above does not")).to_be_visible()
    context.close()


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 40 days: gpu01 fails three times, the light of gpu02 fades, and a driver came before the last failure."""
    place = tmp_path_factory.mktemp("history")
    with History(place / "history.db") as kept:
        for day in range(40):
            bad = day in (10, 20, 39)
            verdicts = [Outcome("links", "gpu01", "fail" if bad else "pass"), Outcome("links", "gpu02", "pass"), Outcome("rdma", "gpu03", "pass")]
            found = [FindingRow("links", "port_flaps", "gpu01", "enp79s0np0", "fail", "no link change", "7 link changes")] if bad else []
            light = Number("light_received", "gpu02", "enp79s0np0", "gpu02 enp79s0np0 1", -3 - day / 10 + day % 3 / 100, "dBm", -10.0, 4.0)
            errors = Number("symbol_errors", "gpu03", "enp80s0np0", "gpu03 enp80s0np0", 40.0 * day, "errors")
            software = [Part("gpu01", "software", "nic_driver", "mlx5_core 24.10-0.7.0.0" if day < 39 else "mlx5_core 25.01-0.6.0.0")]
            optic = [Part("gpu01", "optic", "enp79s0np0", f"NVIDIA MMA4Z00-NS400 MT2349FT0{1 + day // 20}123")]
            at = int(1_700_000_000 + day * DAY_SECONDS)
            kept.add(Entry("pod", RUN, f"run {day}", "", at, "1.0.0", "no_go" if bad else "go", "d", verdicts, found, [light, errors], [*software, *optic]))
        text = render_history_page(findings_of(kept, "pod", 1_700_000_000 + 39.5 * DAY_SECONDS, 90))
    path = place / "history.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("size", [(400, 800), (1280, 900), (1920, 1080)], ids=lambda size: str(size[0]))
def test_a_history_fits_each_screen_and_says_what_matters(size: tuple[int, int], history: Path, look) -> None:
    page = look(history, *size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    expect(page.locator("header")).to_contain_text("Bad when last judged: gpu01")
    expect(page.locator("#offenders tbody tr")).to_have_text(re.compile(r"gpu01\s*3\s*2023-12-23\s*port_flaps"))
    # From -3 dBm it takes 70 days to the alarm of the module at -10 dBm.
    fades = page.locator("#trends tbody tr", has_text="light received")
    expect(fades).to_contain_text("gpu02 enp79s0np0 1")
    expect(fades.locator("td").last).to_have_text(re.compile(r"2024-01-2[2-4] \(2024-01-\d\d to 2024-01-\d\d\)"))
    expect(page.locator("#turns tbody tr").first).to_contain_text("mlx5_core 24.10-0.7.0.0 became mlx5_core 25.01-0.6.0.0")
    # What is wider than a screen is scrolled by itself, and no cell runs out of its table.
    for table in page.locator("table").all():
        assert table.evaluate("one => getComputedStyle(one.parentElement).overflowX") == "auto"
        assert table.evaluate("one => [...one.querySelectorAll('td, th')].every(cell => cell.scrollWidth <= cell.clientWidth + 1)")
