# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a tool does beyond answering: the host's state changes as the tool would change it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# In an execution environment the collection is on no path that Python has by itself.
sys.path.append(Path(__file__).resolve().with_name("collections").read_text(encoding="utf-8"))

from ansible_collections.gpufabric.pyramid.tests.simulated_pod import state

if __name__ == "__main__":
    sys.exit(state.act(Path(os.environ["SIMULATED_POD"]), os.environ["SIMULATED_NODE"], sys.argv[1], sys.argv[2:]))
