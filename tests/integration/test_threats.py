# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a hostile host, wiring plan, survey or run directory could do, each tried."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.cabling import PLACE

from .conftest import ROOT, SMALLEST, Climb, Pod, alike, more

ACTED = "acted_upon"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Climb:
    """A climb of a pod whose optics have hostile names, one of them odd so that its name is in a finding."""
    pod = Pod(tmp_path_factory.mktemp("hostile"), pod_depth="quick", **SMALLEST)
    return pod.climb(simulated_faults="hostile_words,optic_part_odd")


@pytest.mark.exhaustive
def test_words_of_a_host_are_words(hostile: Climb) -> None:
    assert hostile.rc == 0 and hostile.not_well() == {"optics_uniform": "warn"}, hostile.output
    response = json.dumps(hostile.report)
    assert "touch acted_upon" in response and "onerror" in response, "the hostile words are not in the report, so nothing was tried"
    assert not [path for place in (ROOT, hostile.run, Path.cwd(), Path.home()) for path in place.glob(ACTED)]


@pytest.mark.exhaustive
def test_words_of_a_host_are_no_markup_and_no_escape(hostile: Climb) -> None:
    page = (hostile.run / "report.html").read_text(encoding="utf-8")
    assert "onerror" in page and "<img src=x" not in page and "\x1b" not in page + hostile.output
    markdown = (hostile.run / "report.md").read_text(encoding="utf-8")
    assert not re.search(r"(?<!\\)<(script|img)", markdown)
    for name in ("report.md", "report.json", "report.xml", "report.prom"):
        text = (hostile.run / name).read_text(encoding="utf-8")
        assert not [one for one in text if not one.isprintable() and one != "\n"], name


def test_a_wiring_plan_is_only_names(pod: Pod) -> None:
    cabling = pod.inventory / PLACE
    first, second, *rest = cabling.read_text().splitlines()
    cabling.write_text("\n".join([first, second, *rest, f"../../{ACTED},x,leaf01,Ethernet1/1,dac,1,,", f"gpu01,$(touch {ACTED}),leaf02,a;b,dac,1,,"]))
    climb = pod.climb()
    assert climb.rc == 2 and climb.run is None and "node ../../acted_upon is not in the inventory" in climb.output


@pytest.mark.exhaustive
def test_a_refusal_of_a_hostile_wiring_plan_is_shown_whole_and_acts_on_no_terminal(pod: Pod) -> None:
    cabling = pod.inventory / "group_vars" / "cabling.csv"
    text = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u200b"
    cabling.write_text(cabling.read_text() + f'"leaf99{text} GO: pod small",x,leaf01,Ethernet1/1,dac,{text},,\n')
    climb = pod.climb()
    assert climb.rc == 2 and climb.run is None and "leaf99" in climb.output
    assert not [one for one in climb.output if not one.isprintable() and one != "\n"] and not re.search("^GO", climb.output, re.MULTILINE)


@pytest.mark.parametrize(
    ("survey", "words"),
    [
        ({"pod_name": "../../elsewhere"}, "must be letters, digits"),
        ({"pod_only": "{{ lookup('pipe', 'touch acted_upon') }}"}, "nothing of this pod is called"),
        alike({"pod_to_layer": "links; touch acted_upon"}, "argument 'pod_to_layer' must be"),
        more({"pod_ping_count": "1; touch acted_upon"}, "argument 'pod_ping_count' must be"),
    ],
)
def test_a_survey_answers_with_values_only(survey: dict[str, str], words: str, pod: Pod) -> None:
    climb = pod.climb(**{name: {"__ansible_unsafe": value} for name, value in survey.items()})
    assert climb.rc == 2 and words in " ".join(climb.output.split()), climb.output
    assert not [path for place in (ROOT, pod.runs, Path.cwd()) for path in place.glob(ACTED)]


@pytest.mark.exhaustive
def test_a_run_directory_is_only_read(hostile: Climb, tmp_path: Path, pod: Pod) -> None:
    evil = tmp_path / "evil"
    for layer in ("preflight", "links", "routing"):
        (evil / "evidence" / layer).mkdir(parents=True)
    (evil / "evidence" / "links" / "gpu01").symlink_to("/etc")
    (evil / "evidence" / "links" / "gpu02").mkdir()
    (evil / "evidence" / "links" / "gpu02" / "interface_status.txt").symlink_to("/etc/passwd")
    climb = pod.climb(pod_replay_from=str(evil))
    assert climb.rc == 2 and climb.report["verdict"] == "no_go"
    kept = "".join(path.read_text(errors="replace") for path in climb.run.rglob("*") if path.is_file())
    assert "root:x:0" not in kept
