# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python that programs of ranks are started with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from ansible_collections.gpufabric.pyramid.tests.missing import leave_out


def with_torch() -> str:
    """A Python that has torch: that of these tests, or Debian's."""
    for one in (sys.executable, os.environ.get("TORCH_PYTHON", ""), "/usr/bin/python3"):
        if one and shutil.which(one) and subprocess.run([one, "-c", "import torch"], capture_output=True, timeout=60, check=False).returncode == 0:
            return one
    words = "no Python here has torch; Debian has it as python3-torch"
    leave_out(words)
    raise AssertionError
