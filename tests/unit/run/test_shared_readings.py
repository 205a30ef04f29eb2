# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one slice read of a switch is taken by the others where it is whole, fresh and of the same plan; otherwise they read the switch themselves."""

from __future__ import annotations

import json
import shutil
import stat
import threading
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import read_json, utc_now, write_json
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.planned_pod import expectations_digest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.shared_readings import LATE, SharedPhase, _digest, shared_phase
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.slicing import FILE, slice_pod
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import RunStore, collection_version
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout

SPINE = "spine01"
MAX_AGE = 300


@pytest.fixture(scope="module")
def climbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two slices of a pod up to routing, each of which read its switches itself, the first of them not ended yet, and their plan."""
    into = tmp_path_factory.mktemp("slices")
    inventory = layout.write(into / "inventory", racks=2, hosts_per_rack=2, spines=1, expectations={"pod_to_layer": "routing"})
    pods = inprocess.Pods(inventory)
    cabling = (inventory / "group_vars" / "cabling.csv").read_text(encoding="utf-8")
    version = collection_version()
    sliced = slice_pod(pods.plan, 2, expectations_digest(pods.plan, cabling, version), version, "2026-01-01T00:00:00Z")
    for name, groups in sliced.slices.items():
        pods.climb(pods.pod(), into / name / "simulated" / "latest", groups=groups)
    write_json(into / FILE, sliced.dump())
    edited(run(into, "slice_1") / "state.json", finished=False)
    return into


@pytest.fixture
def place(climbed: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(climbed, tmp_path / "slices"))


def run(place: Path, part: str = "slice_2") -> Path:
    return place / part / "simulated" / "latest"


def phase(place: Path, part: str = "slice_2", layer: str = "routing", when: str = "now", wait: int = 0) -> SharedPhase:
    one = shared_phase(run(place, part), layer, when)
    assert one is not None
    one.values = {"pod_shared_readings_wait_seconds": wait, "pod_shared_readings_max_age_seconds": MAX_AGE}
    return one


def snapshot(place: Path, layer: str = "routing", when: str = "now", switch: str = SPINE) -> Path:
    return place / "shared" / layer / when / f"{switch}.json"


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


def change(path: Path, edit: t.Callable[[dict[str, t.Any]], t.Any]) -> None:
    """Change a snapshot and its digest."""
    document = json.loads(path.read_text(encoding="utf-8").partition("\n")[2])
    edit(document)
    text = json.dumps(document)
    path.write_text(f"{_digest(text)}\n{text}", encoding="utf-8")


def asked(one: SharedPhase, nodes: t.Sequence[str] = (SPINE,), said: list[str] | None = None, say: t.Callable[[str], None] = lambda _words: None) -> list[str]:
    """The nodes that a slice asks itself; each of them has a result."""
    found: list[str] = []

    def read(some: t.Sequence[str]) -> t.Iterator[tuple[str, dict[str, t.Any]]]:
        for node in some:
            found.append(node)
            yield node, {"answered": True}

    def both(words: str) -> None:
        (said if said is not None else []).append(words)
        say(words)

    assert sorted(node for node, _result in one.results(nodes, read, both)) == sorted(nodes)
    return found


def test_what_the_owner_read_is_taken_with_its_evidence_and_source(place: Path) -> None:
    phase(place, "slice_1").publish(SPINE, ago(20))
    store, said = RunStore(run(place)), list[str]()
    owned = RunStore(run(place, "slice_1")).envelope("routing", "now", SPINE)
    shutil.rmtree(store.run / "evidence" / "routing" / SPINE)
    (store.run / "readings" / "routing" / "now" / f"{SPINE}.json").unlink()
    assert asked(phase(place), ["gpu02", SPINE], said) == ["gpu02"] and said == ["  1 switch as slice_1 read them, 20 s ago at most"]
    kept = store.envelope("routing", "now", SPINE)
    assert owned is not None and kept is not None
    source = kept["shared"]
    assert (source["slice"], source["run"]) == ("slice_1", "latest") and 20 <= source["age_seconds"] < 60
    assert {**kept, "time": "", "shared": None} == {**owned, "time": "", "shared": None} and kept["readings"]["bgp_summary"]["rows"]
    for reading in kept["readings"]:
        assert store.evidence("routing", SPINE, reading, "now")[1] == RunStore(run(place, "slice_1")).evidence("routing", SPINE, reading, "now")[1]
    for path in (snapshot(place), *snapshot(place).parents[:3]):
        assert stat.S_IMODE(path.stat().st_mode) == (0o600 if path.is_file() else 0o700)


def test_the_owner_publishes_what_it_shares_as_it_reads(place: Path) -> None:
    assert asked(phase(place, "slice_1"), ["gpu01", "leaf01", SPINE]) == ["gpu01", "leaf01", SPINE]
    assert sorted(path.stem for path in snapshot(place).parent.iterdir()) == ["leaf01", SPINE]
    assert asked(phase(place), ["gpu02", "leaf01", SPINE]) == ["gpu02"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda one: one.update(read=ago(MAX_AGE + 1)),
        lambda one: one.update(envelope=None),
        lambda one: one["envelope"].update(answered=False),
        lambda one: one["envelope"]["readings"].pop("bgp_summary"),
        lambda one: one["envelope"]["readings"]["bgp_summary"].update(status="unknown"),
        lambda one: one["envelope"]["readings"]["bgp_summary"].update(lost={"Ethernet0": "no answer"}),
    ],
)
def test_what_is_old_or_not_whole_is_read_again_without_waiting(edit: t.Callable[[dict[str, t.Any]], t.Any], place: Path) -> None:
    phase(place, "slice_1").publish(SPINE, utc_now())
    change(snapshot(place), edit)
    said: list[str] = []
    assert asked(phase(place, wait=3600), said=said) == [SPINE] and said == []
    assert "shared" not in (RunStore(run(place)).envelope("routing", "now", SPINE) or {})


@pytest.mark.parametrize(
    "edit",
    [
        lambda one: one.update(plan="0" * 64),
        lambda one: one.update(asked="0" * 64),
        lambda one: one.update(slice="slice_2"),
        lambda one: one.update(switch="leaf01"),
        lambda one: one.update(layer="links"),
        lambda one: one.update(phase="before"),
        lambda one: one.update(read=ago(-60)),
        lambda one: one.update(read="2026-06-15T12:00:00"),
        lambda one: one.update(read="yesterday"),
        lambda one: one.update(texts={"bgp_summary": 1}),
        lambda one: one["envelope"].pop("contacted"),
        lambda one: one["envelope"]["readings"]["bgp_summary"].pop("lost"),
    ],
)
def test_what_is_of_another_plan_or_time_or_malformed_is_not_taken(edit: t.Callable[[dict[str, t.Any]], t.Any], place: Path) -> None:
    phase(place, "slice_1").publish(SPINE, utc_now())
    change(snapshot(place), edit)
    assert asked(phase(place)) == [SPINE] and read_json(run(place) / LATE) == ["slice_1"]


@pytest.mark.parametrize("text", ["", "\n", "{}", "[" * 100_000, "\udcff", None])
def test_what_is_damaged_is_not_taken(text: str | None, place: Path) -> None:
    phase(place, "slice_1").publish(SPINE, utc_now())
    whole = snapshot(place).read_text(encoding="utf-8")
    damaged = whole[:-20] if text is None else f"{_digest(text)}\n{text}" if text.startswith("[") else text
    snapshot(place).write_bytes(damaged.encode("utf-8", "surrogateescape"))
    assert asked(phase(place)) == [SPINE]
    snapshot(place).write_text(whole.replace("Established", "Active"), encoding="utf-8")
    assert snapshot(place).read_text(encoding="utf-8") != whole and asked(phase(place)) == [SPINE]


def test_an_owner_that_never_reads_is_waited_for_once(place: Path) -> None:
    said: list[str] = []
    assert asked(phase(place, layer="links", when="before"), ["leaf01", SPINE], said) == ["leaf01", SPINE]
    assert said == ["  slice_1 did not read 2 switches in time; this slice reads them itself, and waits no more"]
    said.clear()
    assert asked(phase(place, wait=3600), said=said) == [SPINE] and said == []
    phase(place, "slice_1").publish(SPINE, utc_now())
    assert asked(phase(place)) == []


def test_an_owner_that_has_ended_is_not_waited_for(place: Path) -> None:
    edited(run(place, "slice_1") / "state.json", finished=True)
    said: list[str] = []
    assert asked(phase(place, wait=3600), said=said) == [SPINE] and said == [] and not (run(place) / LATE).exists()


@pytest.mark.parametrize("text", [None, "", "[]", '{"finished": true}', '{"finished": true, "opened": "2025-01-01T00:00:00Z"}'])
def test_whether_an_owner_has_ended_is_by_its_run_of_this_plan(text: str | None, place: Path) -> None:
    state = run(place, "slice_1") / "state.json"
    state.unlink() if text is None else state.write_text(text, encoding="utf-8")
    assert asked(phase(place)) == [SPINE] and read_json(run(place) / LATE) == ["slice_1"]


def test_a_slice_waits_until_the_owner_has_read(place: Path) -> None:
    said: list[str] = []
    owner = phase(place, "slice_1")
    assert asked(phase(place, wait=3600), said=said, say=lambda words: owner.publish(SPINE, utc_now()) if "waiting" in words else None) == []
    assert said[0] == "  waiting for slice_1 to read 1 switch" and not (run(place) / LATE).exists()


def test_a_snapshot_is_whole_while_it_is_published_again(place: Path) -> None:
    """Two runs of one slice at once, say a job that was started again."""
    phase(place, "slice_1").publish(SPINE, utc_now())
    ended = threading.Event()

    def publish() -> None:
        owner = phase(place, "slice_1")
        while not ended.is_set():
            owner.publish(SPINE, utc_now())

    threads = [threading.Thread(target=publish) for _number in range(2)]
    for thread in threads:
        thread.start()
    taken = [phase(place).take(SPINE) for _number in range(30)]
    ended.set()
    for thread in threads:
        thread.join()
    assert taken == [True] * 30 and [path.name for path in snapshot(place).parent.iterdir()] == [f"{SPINE}.json"]


def test_counters_before_and_after_a_soak_are_of_one_soak(place: Path) -> None:
    for when in ("before", "now"):
        phase(place, "slice_1", "links", when).publish(SPINE, utc_now())
    said: list[str] = []
    assert asked(phase(place, layer="links", wait=3600), said=said) == [SPINE] and said == [], "what was before the soak is this run's own"
    assert asked(phase(place, layer="links", when="before")) == []
    assert asked(phase(place, layer="links")) == []
    change(snapshot(place, "links"), lambda one: one.update(run="another"))
    assert asked(phase(place, layer="links", wait=3600)) == [SPINE]


def test_what_cannot_be_published_stops_nobody(place: Path) -> None:
    (place / "shared").write_text("", encoding="utf-8")
    assert asked(phase(place, "slice_1")) == [SPINE] and asked(phase(place)) == [SPINE]


def edited(path: Path, **fields: t.Any) -> None:
    write_json(path, {**read_json(path), **fields})


def without_slices(place: Path) -> None:
    (place / FILE).unlink()


def expecting(place: Path, **values: t.Any) -> None:
    plan = run(place) / "plan.json"
    edited(plan, common={**read_json(plan)["common"], **values})


@pytest.mark.parametrize(
    "edit",
    [
        without_slices,
        lambda place: edited(place / FILE, schema=1),
        lambda place: edited(place / FILE, slices={"slice_1": ["rack_01", "rack_02"]}),
        *(lambda place, name=name: edited(place / FILE, **{name: "other"}) for name in ("pod", "digest", "version")),
        lambda place: edited(place / FILE, planned="2999-01-01T00:00:00Z"),
        lambda place: edited(run(place) / "state.json", only="routing"),
        lambda place: edited(run(place) / "state.json", replay="/kept"),
        lambda place: edited(run(place) / "state.json", plans_only=True),
        lambda place: expecting(place, pod_shared_readings_max_age_seconds=0),
        lambda place: expecting(place, pod_failover={"link": "leaf01:Ethernet0"}),
    ],
)
def test_what_is_no_slice_of_the_plan_reads_for_itself(edit: t.Callable[[Path], None], place: Path) -> None:
    edit(place)
    assert shared_phase(run(place), "routing", "now") is None


@pytest.mark.parametrize(("layer", "when"), [("links", "idle"), ("routing", "before"), ("congestion", "before"), ("congestion", "now"), ("rdma", "now")])
def test_what_is_read_around_loads_is_not_shared(layer: str, when: str, place: Path) -> None:
    assert shared_phase(run(place), layer, when) is None
