# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the messages mean with which a launcher refuses to start ranks: Slurm's, pyxis's and enroot's, Open MPI's and ssh's."""

from __future__ import annotations

import functools
import re
import typing as t

from .ended_tasks import EXITED
from .error_classes import error_class, says_only_a_result, specific_class
from .launcher_messages import LAUNCHER_ERRORS, OF_MPI, OF_TESTS
from .named_parts import named_parts
from .rank_errors import explained as explained_of_rank
from .rank_errors import known_error
from .remarks import is_remark, without_settings
from .result_numbers import in_words
from .unknown_errors import ERROR_FORM, cut, explain_unknown, is_quoted, names_system_error

# How a launcher, or what it started, words which host its line is about; rank: the number of the process, where Open MPI names no host.
SUBJECT = re.compile(
    r"(?:on node|on host|rolog failed on(?! node)|RUNNING AT|to host|failure on|to child|Connection to|but host=|\(IP:|[Nn]o reply from|(?:^|[\t; ])ip:|\[\[|"
    r"(?:^|; )\s*(?:(?:[Rr]emote )?(?:host|node)|Host|Node):)[ :]*(?P<of>[\w.-]+)|"
    r"(?:^|: )(?P<speaker>[\w.-]+): (?:Test \w+ failure|tasks? \d|shepherd died|rank \d+ (?:exited|died)|\[[\d :,-]+\] \[ERROR\] \[launch\.py)|"
    # NCCL, UCX, Open MPI and Hydra, with the number of the process that speaks.
    r"(?:^|: )(?P<rank_of>[A-Za-z][\w.-]*):\d+:\d+ \[\d+\] |"
    r"(?:^|[\s:])\[(?:proxy:\d+:\d+@(?P<proxy>[\w.-]+)|(?P<process>[A-Za-z][\w.-]*):\d+ ?(?::\d+)*)\](?!\[)|"
    r"Process name: \[\[\d+,\d+\],(?P<rank>\d+)\]"
)
# The launcher's own end of a connection to what the line beside it names.
OWN_END = re.compile(r"^\s*(?:HNP|[Ll]ocal) (?:daemon|host|node)\b")
EXIT_CODE = re.compile(r"^\s*Exit code: +\d+")
# A warning of NCCL, which a rank prints, and the result that a program of nccl-tests ends with.
OF_NCCL = re.compile(r"\bNCCL WARN ")
RESULT_OF_TEST = re.compile(r"Test (?:NCCL|RCCL) failure \S+ '(?P<words>[^']*)'")
# How lines begin that a scheduler, a launcher or what starts containers prints, and no rank.
SPOKEN = re.compile(
    r"(?:^|: )(?:(?:error: )?(?:srun|salloc|sbatch|slurmstepd|mpirun|mpiexec|prterun|orterun|pyxis|docker|podman|ssh|jsrun)(?:\.\w+)?: |pdsh@\S+: |"
    r"=>> PBS: |TERM_[A-Z_]+: |\[(?:proxy|mpiexec)[:@]|(?:An )?(?:ORTE|PRTE) |= +.*(?:RUNNING AT|KILLED BY SIGNAL|EXIT CODE)|YOUR APPLICATION TERMINATED|"
    r"(?:mpirun|prterun|mpiexec|orterun) noticed that |command terminated with exit code |The actor is dead because |PMI[Xx] ERROR|"
    r"Error from server|kex_exchange_identification|Connection to \S+ (?:closed by remote|timed out)|The node was low on resource|"
    r"ray\.exceptions\.OutOfMemoryError|RuntimeError: Using hostfile )"
)
# A log has thousands of lines.
MESSAGES = tuple(re.compile(one.pattern) for one in LAUNCHER_ERRORS)
UNKNOWN_CAUSE = "The launcher itself reports why it started no ranks, or not on all hosts. "
AGAIN = "Then run the layer again; this says nothing about the network or the GPUs."


def known_line(*texts: str, worded: bool = False) -> str | None:
    """The line of a launcher's output that says why it refused, by the most specific entry that knows one; None where none does.

    worded: whether only lines count that are worded as an error, as where the output has the log of a site's program in it.
    """
    lines = [line.rstrip() for text in texts for line in text.splitlines() if not is_remark(line)]
    # What a launcher quotes of another program comes first: that one saw the error itself.
    lines = [line.strip() for line in sorted(lines, key=lambda line: not is_quoted(line))]
    lines = [line for line in lines if ERROR_FORM.search(without_settings(line))] if worded else lines
    one, said = next(((one, line) for one in LAUNCHER_ERRORS if one is not EXITED for line in lines if re.search(one.pattern, line)), (None, None))
    if one is OF_TESTS and (result := RESULT_OF_TEST.search(said or "")) and says_only_a_result(result["words"]):
        # Of what kind NCCL's result is says less than the warning before it, where that is known.
        return next((line for line in lines if OF_NCCL.search(line) and (known_error(line) or error_class(line))), said)
    if one not in (None, OF_MPI):
        return said
    # That an error occurred in MPI, or that a process ended, says less than what a library below it names.
    return next((line for line in lines if ERROR_FORM.search(line) and specific_class(line)), said)


def host_of(words: str | None, hosts: t.Sequence[str], one_a_host: bool = False) -> str | None:
    """The host that a launcher's line is about, of those that it was to start ranks on; None where it names none of them, or several.

    one_a_host: whether it starts one process on each host, in their order, so that the number of one is that of its host.
    """
    named: set[str] = set()
    numbers: set[str] = set()
    for match in SUBJECT.finditer(words or ""):
        (numbers if match["rank"] else named).add(next(filter(None, match.groups())))
    places = {int(number) for number in numbers} if one_a_host and not named else set()
    found = [host for at, host in enumerate(hosts) if at in places or any(name == host or name.startswith(f"{host}.") for name in named)]
    return found[0] if len(found) == 1 else None


def reported_of(words: str | None, hosts: t.Sequence[str]) -> str | None:
    """The host of a job of which a line of a launcher reports something that is known; None of any other line."""
    return host_of(words, hosts) if is_message(words or "") else None


@functools.lru_cache(maxsize=4096)
def is_message(line: str) -> bool:
    """Whether a line has something that a launcher is known to print."""
    return any(pattern.search(line) for pattern in MESSAGES)


def is_spoken(line: str) -> bool:
    """Whether a launcher or scheduler prints a line itself, or what starts containers."""
    return SPOKEN.search(line) is not None


def refused_by_launcher(words: str | None) -> bool:
    """Whether a line is one that a launcher or scheduler prints itself, and whose reason is known."""
    return is_spoken(words or "") and is_message(words or "")


def with_subject(line: str, *texts: str) -> str:
    """A line of a launcher's output with the first other one that says which host it is about, where it does not say so itself, and the exit code there."""
    if SUBJECT.search(line):
        return line
    lines = [one for text in texts for one in text.splitlines()]
    other = next((one.strip() for one in lines if SUBJECT.search(one) and not OWN_END.search(one)), None)
    code = next((one.strip() for one in lines if EXIT_CODE.search(one)), None)
    return "; ".join(one for one in (line, other, code) if one)


def explained(text: str | None) -> tuple[str, str]:
    """Cause and fix of a launcher's refusal."""
    known = next((one for one in LAUNCHER_ERRORS if re.search(one.pattern, text or "")), None)
    if known is None and OF_NCCL.search(text or ""):
        return explained_of_rank(text)
    cause, fix = explain_unknown(text or "", UNKNOWN_CAUSE, of_ranks=False)
    of_test = known_error(text) if known is OF_TESTS else None
    if of_test is not None and of_test.own:
        return f"{OF_TESTS.cause} {of_test.cause}", f"Begin with this line: {cut(text or '')}. {of_test.fix} {AGAIN}"
    specific = specific_class(text or "") if known in (None, OF_MPI, OF_TESTS) else None
    if specific:
        return f"{named_parts(text or '')}{in_words(text or '')}{specific.cause}", f"Begin with this line: {cut(text or '')}. {specific.fix} {AGAIN}"
    if known is None:
        return cause, f"{fix} {AGAIN}"
    if not known.speaker:
        return known.cause, f"{known.fix} {AGAIN}"
    own = f"{explain_unknown(text or '', of_ranks=False)[0]} " if names_system_error(text or "") else ""
    return f"{own}{known.cause}", f"Begin with this line: {cut(text or '')}. {known.fix} {AGAIN}"
