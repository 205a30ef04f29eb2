# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one way to the terminal: standard output, unless a program reads that."""

from __future__ import annotations

from ansible import constants as C
from ansible.utils.display import Display

from ..text.control_characters import visible

# Output callbacks whose standard output is a document.
DOCUMENTS = ("json", "jsonl")
# Set by the progress callback in Ansible's main process, which task workers are copies of.
progress_shown = False
# Set there too, once a table has said or will say of every node what the recap could only say of some.
table_follows = False


def show(text: str, rendered: bool = False) -> None:
    """Print lines for a person, from any process; on standard error where the output callback writes a document to standard output.

    rendered: each text from outside was made visible before, and what else acts on a terminal is the program's own, such as colours.

    The text may quote devices and files. An action works in a process of its own, whose lines Ansible prints in its first process.
    ansible-runner wraps Display.display in both, and would write its marks to the standard output of this one, which Ansible warns of
    at every line.
    """
    display = Display()
    shown, stderr = text if rendered else str(visible(text)), str(C.DEFAULT_STDOUT_CALLBACK).rpartition(".")[2] in DOCUMENTS
    queue = getattr(display, "_final_q", None)
    if queue is None:
        display.display(shown, stderr=stderr)
    else:
        queue.send_display("display", shown, stderr=stderr)
