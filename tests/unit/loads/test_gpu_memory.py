# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose a GPU's memory was when a program found no more of it; the first two messages are those of PyTorch 2.11 on an H200, the second with other amounts."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.gpu_memory import of_gpu_memory
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.rank_errors import explained, is_own

FROM_2_1 = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {tried}. GPU 0 has a total capacity of 139.80 GiB of which {free} is free. "
    "Including non-PyTorch memory, this process has {own} memory in use. Of the allocated memory 0 bytes is allocated by PyTorch"
)
BEFORE = (
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 39.39 GiB total capacity; {own} already allocated; 8.00 MiB free; "
    "{own} reserved in total by PyTorch)"
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (FROM_2_1.format(tried="4096.00 GiB", free="139.29 GiB", own="518.00 MiB"), "The rank's own process uses 0.506 of the GPU's 140 GiB"),
        (FROM_2_1.format(tried="2.00 GiB", free="1.30 GiB", own="20.00 GiB"), "Other processes use 118 of the 140 GiB"),
        (BEFORE.format(own="38.90 GiB"), "The rank's own process uses 38.9 of the GPU's 39.4 GiB"),
        (BEFORE.format(own="4.00 GiB"), "Other processes use 35.4 of the 39.4 GiB"),
        ("CUDA error: out of memory", "The GPU has too little free memory"),
    ],
)
def test_whose_the_memory_was(text: str, cause: str) -> None:
    assert cause in explained(text)[0] and is_own(text)


def test_an_error_without_amounts_is_none_of_them() -> None:
    assert of_gpu_memory("CUDA error: out of memory") is None and of_gpu_memory("") is None
