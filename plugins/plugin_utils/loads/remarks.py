# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of a log that have the words of an error and are of none: what programs log at a level below it, settings that they print, and well-known remarks."""

from __future__ import annotations

import re

_RANK = r"(?:\[\w*rank\s?\d+\]:? ?)?"
# The time of day with which many programs begin a line, in brackets or not, and what separates its parts from the level.
_TIME = r"[\[(]?\d[\d:.,TZ/+-]*(?: \d[\d:.,TZ+-]*)*[\])]?[\s|,:-]*"
# glog's (PyTorch, JAX), those of TensorFlow and NeMo, and those of Python's logging in the orders in which programs print them.
_LEVEL = r"^\W{{0,3}}{rank}(?:\[?{letter}(?:\d{{3,4}} | \w+\.cpp:)|{time}{letter} \w+/|\[NeMo {letter} |(?:wandb: )?\W?(?:{time})?[\[(|]?\s?(?:{words})\b(?!=))"
# Within so many characters of its beginning a line has its level.
BEFORE_A_LEVEL = 200
BELOW_A_WARNING = re.compile(_LEVEL.format(rank=_RANK, letter="I", time=_TIME, words="INFO|DEBUG|NOTICE|TRACE"))
WARNING = re.compile(_LEVEL.format(rank=_RANK, letter="W", time=_TIME, words="WARN|WARNING|Warning"))
# One setting or figure: a variable, a key of JSON or YAML, an argument of Megatron-LM, each with a value of one word, and how often or how much.
_VALUE = r"(?:\"[^\"\s]*\"|'[^'\s]*'|[\w./:,+%-]+|[\[{])"
_OF_ERRORS = r"(?:errors?|failed|failures?|killed|lost|exceeded|aborted|refused|timed out)"
SETTINGS = re.compile(
    rf"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*=(?:{_VALUE}|(?=\s|$))|[\"'][\w./-]+[\"']\s*:\s*{_VALUE}|"
    rf"^\W*[a-z]\w*(?:[_.-]\w+)+\s*(?:: |\.{{3,}} ){_VALUE}\s*$|\b\w+[/_]\w+ ?= ?{_VALUE}|"
    rf"(?i:\b{_OF_ERRORS}(?: rate)?\s?[:=]? ?\d+\.\d+(?![\d.:])|\b{_OF_ERRORS}(?: \w+){{0,2}}[:=]? ?0\b(?![.\dx:])|\b0 (?:\w+ )?{_OF_ERRORS}\b)"
)
# What a shell prints with set -x.
OF_A_SHELL = re.compile(r"^\+{1,4} \S")
# What commands of a script say where they alone did not do what they were told; the script may go on, or end for it.
OF_A_COMMAND = re.compile(r"^(?:mkdir|rmdir|rm|ls|cp|mv|ln|cat|chmod|chown|touch|grep|sed|which|tput|stty|\S+: line \d+: [^\d\s]\S*): ")
# Remarks after which their programs go on. Of a library that is tried and not needed, of a repository for the version, of a client that tries again.
HARMLESS = re.compile(
    r"[:(] ?ignored\)?\.?$|^Exception ignored in: |[Nn]ot a git repository|dubious ownership in repository|Unable to register cu\w+ factory|"
    r"Unable to initialize backend '(?:tpu|rocm|metal|interpreter|plugin)'|entering retry loop|Failed to sample metrics|"
    r"\bApex was not found\b|Error in cpuinfo: |There was an error initializing an OpenFabrics device|"
    r"unused environment variable|Unable to create TMPDIR |\bUCX  (?:INFO|DEBUG|TRACE|DIAG)\b|^libibverbs: Warning: |No ROCm runtime is found"
)


def is_remark(line: str) -> bool:
    """Whether a line that may have the words of an error is of none: logged below a warning, a command that a shell repeats, or known to be harmless."""
    return bool(BELOW_A_WARNING.match(line, 0, BEFORE_A_LEVEL) or OF_A_SHELL.match(line) or HARMLESS.search(line))


def is_warning(line: str) -> bool:
    """Whether a program logged a line as a warning."""
    return WARNING.match(line, 0, BEFORE_A_LEVEL) is not None


def is_of_a_command(line: str) -> bool:
    """Whether a command of a script printed a line, which says less than what a training prints."""
    return OF_A_COMMAND.match(line) is not None


def without_settings(line: str) -> str:
    """A line without the settings and figures in it, whose names and values may be words of an error."""
    return SETTINGS.sub(" ", line)
