# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Templates of an inventory: a group's value has the same text for each of its hosts, and Ansible compiles it for each anew."""

from __future__ import annotations

import contextlib
import typing as t

import jinja2

# What a text may set for itself by a first line ``#jinja2: ...``, and what else its code depends on.
SETTINGS = (
    "block_start_string", "block_end_string", "variable_start_string", "variable_end_string", "comment_start_string", "comment_end_string",
    "line_statement_prefix", "line_comment_prefix", "trim_blocks", "lstrip_blocks", "newline_sequence", "keep_trailing_newline", "optimized", "is_async",
)  # fmt: skip


@contextlib.contextmanager
def compiled_once() -> t.Iterator[None]:
    """Within it Jinja compiles a text once, and not once for each environment; code is compiled without the values that it is rendered with.

    For one thread alone. Compiling is three quarters of the CPU that an inventory's values take.
    """
    kept: dict[tuple[t.Any, ...], t.Any] = {}
    compiled = jinja2.Environment.compile

    def compile_once(self: jinja2.Environment, source: t.Any, *given: t.Any, **named: t.Any) -> t.Any:
        # A name is of a file that a template includes, and what is no text was parsed before.
        if given or named or not isinstance(source, str):
            return compiled(self, source, *given, **named)
        key = (type(self), source, *(getattr(self, name) for name in SETTINGS))
        if key not in kept:
            kept[key] = compiled(self, source)
        return kept[key]

    jinja2.Environment.compile = compile_once  # type: ignore[method-assign]
    try:
        yield
    finally:
        jinja2.Environment.compile = compiled  # type: ignore[method-assign]
