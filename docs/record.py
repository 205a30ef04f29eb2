# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record the pictures of README.md: a simulated pod with a port at 100G is a no-go, and after the repair it is validated again.

``python docs/record.py`` runs the program twice (a minute) and writes docs/validate.svg, and docs/report.png as Chromium shows the report of the no-go. Lines
appear at an even pace, not at that of the machine; what Ansible prints of every playbook and of a failed task is left out, and verdicts have the colours that
they have on a terminal.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path
from xml.sax.saxutils import escape

from playwright.sync_api import ViewportSize, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
INTO = ROOT / "docs" / "validate.svg"
REPORT = ROOT / "docs" / "report.png"
# The page down to its topology.
SIZE: ViewportSize = {"width": 1180, "height": 1250}
COMMAND = "make validate ARGS='-e pod_to_layer=routing{}'"
FAULT = " -e simulated_faults=port_at_100g"
COLUMNS, ROWS, LINE, CELL = 104, 28, 18, 7.85
# Seconds for a line, and for what is to be read: the end of a run.
PACE, READ = 0.12, 5.0
COLOURS = {"31": "#ff8a70", "32": "#6fd08c", "33": "#f2c14e", "34": "#8ab4f8", "35": "#c58af9", "36": "#78d9ec", "90": "#9aa0a6"}
SGR = re.compile(r"\x1b\[([0-9;]*)m")
# Its plays and its recap, which every playbook has.
ANSIBLES_OWN = re.compile(r"^(?:PLAY|TASK) |: ok=\d|^\d+ (?:others|nodes): nothing changed")
GOOD = ("open", "GO")
VERDICTS = re.compile(r"^(?:NO-GO|GO|FAIL)\b|\bCLOSED\b|\bopen\b(?! \()")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-ln-z]|\r")
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" font-family="ui-monospace, 'DejaVu Sans Mono', monospace" font-size="13">
<title>A no-go for one rack, with its cause and fix; after the repair a go</title>
<style>
svg {{ background: #1b1f24 }} text {{ fill: #e6e8eb; white-space: pre }} .prompt {{ fill: #8ab4f8 }}
#lines {{ animation: scroll {seconds:g}s step-end infinite }}
@keyframes scroll {{
{frames}
}}
@media (prefers-reduced-motion: reduce) {{ #lines {{ animation: none; transform: translateY({last}px) }} }}
</style>
<rect width="100%" height="100%" rx="6" fill="#1b1f24"/>
<svg y="8" width="{width:g}" height="{shown}" viewBox="0 0 {width:g} {shown}"><g id="lines">
{lines}
</g></svg>
</svg>
"""


class Line(t.NamedTuple):
    """A line with its colours as SGR, and for how many seconds it is the last one."""

    text: str
    seconds: float


def main() -> None:
    """Run the program twice and write the pictures."""
    with tempfile.TemporaryDirectory() as runs:
        red = recorded(runs, FAULT)
        take_picture(Path(runs) / "simulated" / "latest" / "report.html")
        green = recorded(runs, "")
    lines = [*shown(COMMAND.format(FAULT), red), *shown(COMMAND.format(""), green)]
    INTO.write_text(svg(lines), encoding="utf-8")
    sys.stdout.write(f"{INTO.relative_to(ROOT)}: {INTO.stat().st_size} bytes, {len(lines)} lines\n")


def take_picture(page: Path) -> None:
    """Write what a browser shows of a page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), chromium_sandbox=os.geteuid() != 0)
        shown_page = browser.new_page(viewport=SIZE, offline=True)
        shown_page.goto(page.resolve().as_uri())
        shown_page.screenshot(path=REPORT)
        browser.close()


def recorded(runs: str, fault: str) -> str:
    """What a run prints, in colour."""
    arguments = ["playbooks/validate.yml", "-i", "inventories/simulated", *f"-e pod_to_layer=routing -e pod_runs_dir={runs}{fault}".split()]
    environment = {**os.environ, "ANSIBLE_FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)}
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-playbook", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    plain = SGR.sub("", done.stdout)
    if done.returncode != (2 if fault else 0) or not re.search(r"^NO-GO: " if fault else r"^GO: ", plain, re.MULTILINE):
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout.replace(runs, "runs")


def shown(command: str, output: str) -> list[Line]:
    """The prompt and the lines of one run, cut to the width of the picture."""
    lines = own_lines(CONTROL.sub("", output).split("\n"))
    kept = [Line(cut(line), PACE) for line in lines]
    return [Line(f"\x1b[34m$\x1b[0m {command}", 1.0), *kept[:-1], Line(kept[-1].text, READ), Line("", PACE)]


def own_lines(output: list[str]) -> list[str]:
    """The program's own lines, without two blank ones in a row."""
    lines: list[str] = []
    failed = False
    for line in output:
        plain = SGR.sub("", line)
        failed = failed or plain.startswith("[ERROR]: ")
        if not (failed or ANSIBLES_OWN.search(plain)) and (plain.strip() or (lines and lines[-1].strip())):
            lines.append(VERDICTS.sub(lambda word: f"\x1b[{'32' if word[0] in GOOD else '31'}m{word[0]}\x1b[0m", line))
        failed = failed and not plain.startswith("fatal: ")
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def cut(line: str) -> str:
    """A line of at most COLUMNS characters, with its colours."""
    kept, length = "", 0
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        kept += piece if piece.startswith("\x1b") else piece[: COLUMNS - length]
        length += 0 if piece.startswith("\x1b") else len(piece)
    return kept


def svg(lines: list[Line]) -> str:
    """The animation: all lines one below the other, moved up so that the last one so far is at the bottom."""
    whole = sum(line.seconds for line in lines)
    frames, at = [], 0.0
    for number, line in enumerate(lines, 1):
        frames.append(f"{100 * at / whole:.3f}% {{ transform: translateY({(ROWS - number) * LINE}px) }}")
        at += line.seconds
    texts = [f'<text x="10" y="{number * LINE + 14}">{spans(line.text)}</text>' for number, line in enumerate(lines) if SGR.sub("", line.text).strip()]
    return HEAD.format(
        width=COLUMNS * CELL + 20, height=ROWS * LINE + 16, shown=ROWS * LINE, seconds=round(whole, 2), frames="\n".join(frames),
        last=(ROWS - len(lines)) * LINE, lines="\n".join(texts),
    )  # fmt: skip


def spans(line: str) -> str:
    """A line's text, its coloured parts in elements of their own."""
    result, colour = "", None
    for number, piece in enumerate(SGR.split(line)):
        if number % 2:
            colour = next((COLOURS[code] for code in piece.split(";") if code in COLOURS), None)
        elif piece:
            result += f'<tspan fill="{colour}">{escape(piece)}</tspan>' if colour else escape(piece)
    return result


if __name__ == "__main__":
    main()
