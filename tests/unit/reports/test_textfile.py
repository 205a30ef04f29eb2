# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics of a run."""

from __future__ import annotations

import re
import stat
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.textfile import VERDICTS, render_textfile
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import RunError
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.files import read_json
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.report_files import write_report

from tests import made_run

from ..conftest import small_plan

LINE = re.compile(r'^gpufabric_pyramid_(\w+)\{((?:\w+="(?:[^"\\\n]|\\.)*",?)+)\} (\S+)$')


def metrics(text: str) -> dict[tuple[str, ...], float]:
    """Each series by its name and the values of its labels, without the pod's."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = LINE.match(line).groups()
            found[name, *re.findall(r'="((?:[^"\\]|\\.)*)"', labels)[1:]] = float(value)
    return found


def run(tmp_path: Path, **values: t.Any) -> t.Any:
    plan = small_plan(**values)
    bad = made_run.verdict(plan, "links", "port_speed", "gpu01", Finding(at_port("ens0"), "400", "100"))
    return made_run.make(tmp_path / "run", plan, [bad, made_run.verdict(plan, "links", "port_speed", "gpu03")])


def test_the_state_of_everything_is_a_series_a_word(tmp_path: Path) -> None:
    found = metrics((run(tmp_path).run / "report.prom").read_text())
    assert [found["verdict", word] for word in VERDICTS] == [0, 0, 1]
    assert (found["gate", "links", "rack_01", "closed"], found["gate", "links", "rack_01", "open"]) == (1, 0)
    assert (found["gate", "links", "rack_02", "closed"], found["gate", "links", "rack_02", "open"]) == (0, 1)
    assert found["verdicts", "links", "port_speed", "fail"] == found["verdicts", "links", "port_speed", "pass"] == 1
    assert sum(value for key, value in found.items() if key[:2] == ("nodes", "links")) == len(small_plan().nodes)
    assert found["complete",] == 1


def test_a_gate_that_was_not_run_has_a_series_of_its_own(tmp_path: Path) -> None:
    report = read_json(run(tmp_path).run / "report.json")
    next(layer for layer in report["layers"] if layer["asked"])["groups"]["rack_01"]["gate"] = "not_run"
    gates = [key for key, value in metrics(render_textfile(report)).items() if key[0] == "gate" and key[2] == "rack_01" and value]
    assert [key[3] for key in gates if key[1] == next(layer["layer"] for layer in report["layers"] if layer["asked"])] == ["not_run"]


def test_names_cannot_break_out_of_a_label(tmp_path: Path) -> None:
    report = read_json(run(tmp_path).run / "report.json")
    report["pod"] = 'a"} 1\nup{x="\\'
    text = render_textfile(report)
    assert all(LINE.match(line) for line in text.splitlines() if not line.startswith("#")) and 'pod="a\\"} 1\\nup{x=\\"\\\\"' in text


def test_a_pod_is_published_whole_and_readable(tmp_path: Path) -> None:
    (tmp_path / "textfiles").mkdir()
    book = run(tmp_path, pod_textfile_dir=str(tmp_path / "textfiles"))
    (published,) = (tmp_path / "textfiles").iterdir()
    assert published.name == "gpufabric_pyramid_made.prom" and stat.S_IMODE(published.stat().st_mode) == 0o644
    assert published.read_text() == (book.run / "report.prom").read_text()


def test_what_cannot_be_published_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be written"):
        run(tmp_path, pod_textfile_dir=str(tmp_path / "absent"))


@pytest.mark.parametrize("part", [{"only": "gpu01"}, {"replay": "elsewhere"}])
def test_a_part_of_a_pod_publishes_nothing(part: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "textfiles").mkdir()
    book = run(tmp_path, pod_textfile_dir=str(tmp_path / "textfiles"))
    (tmp_path / "textfiles" / "gpufabric_pyramid_made.prom").unlink()
    state = book.state()
    for name, value in part.items():
        setattr(state, name, value)
    write_report(book, book.plan(), state)
    assert not list((tmp_path / "textfiles").iterdir())
