# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which line of all that a site's own training prints says why it ended."""

from __future__ import annotations

import re
import signal
import typing as t

from .error_classes import SPEAKER, says_only_a_result
from .launcher_errors import OF_NCCL
from .line_labels import OF_A_RANK, of_host
from .rank_errors import follows, known_error
from .remarks import is_of_a_command, is_remark, is_warning, without_settings
from .unknown_errors import ERROR_FORM, NO_ERROR, cut, has_a_class

# What Python, PyTorch's launcher and libraries print around an error: where it passed, warnings, and that something ended.
AROUND_AN_ERROR = re.compile(
    r"^(?:\[\w*rank\s?\d+\]:?)?\s*(?:Traceback |File \"|raise |During handling |The above exception |frame #\d|"
    r"Failures:|<NO_OTHER_|Root Cause |\S+ FAILED$|\[\d+\]:$|(?:time|host|rank|exitcode|error_file|traceback)\s+:|\[?W\d{3,4} )|"
    r"Last error:$|closing signal|distributed/elastic/|ChildFailedError|NCCL INFO|Warning: |Watchdog caught|"
    # Of PyTorch's watchdog, whose lines are read as collective_timeouts.
    r"detected by watchdog at work|due to a collective timeout|to dump debug info|to signal dumping|"
    r"Stack trace of the failed collective|flight recorder dump signal|"
    # Of PyTorch's workers, whose own traceback follows.
    r"Caught \w+ in (?:DataLoader worker|pin memory thread|replica)"
)
# With which lines launchers end of whose ranks one failed, whatever the script or pipe around them exits with: of pdsh and clush, Slurm, torchrun, DeepSpeed,
# Open MPI and Horovod.
RANKS_FAILED = re.compile(
    r"(?m)^(?:pdsh@\S+: \S+: \w+ exited with exit code [1-9]|clush: \S+: exited with exit code [1-9]|"
    r"srun: error: \S+: tasks? [\d,-]+: (?!Exited with exit code 0)|slurmstepd: error: \*\*\* (?:STEP|JOB) \S+ .*CANCELLED|"
    r".*Root Cause \(first observed failure\):|.*\[launch\.py:\d+:\w+\] .* exits with return code = -?[1-9]|"
    r"(?:mpirun|prterun|mpiexec) (?:detected that one or more processes exited with non-zero|noticed that process rank \d+ .*exited on signal)|"
    r".*Horovod detected that one or more processes exited with non-zero)"
)
# What Python's faulthandler says of a signal, which torchrun's summary says with the rank.
OF_A_SIGNAL = re.compile(r"^Fatal Python error: ")
# A line of the program that a traceback of Python quotes: it is indented further than the frame above it, where Python found the program's text.
FRAME, QUOTED_PROGRAM = re.compile(r'File "[^"]*", line \d+, in '), re.compile(r"^(?:\[\w*rank\s?\d+\]: ?)? {4,}\S")
# Python prints an exception of a library with its module, whatever its name is.
QUALIFIED = re.compile(r"^(?:\[\w*rank\s?\d+\]: )?(?:[a-z_]\w*\.)+[A-Z]\w*[a-z]\w*: \S")
# The summary with which torchrun ends, of the rank of its host that failed first.
SUMMARY = re.compile(
    r"Root Cause \(first observed failure\):\s*\[\d+\]:\s*time\s*:\s*(?P<time>\S+)\s*host\s*:\s*(?P<host>\S+)\s*"
    r"rank\s*:\s*(?P<rank>\d+) \(local_rank: (?P<local>\d+)\)\s*exitcode\s*:\s*(?P<code>-?\d+)"
)


def says_that_ranks_failed(*texts: str) -> bool:
    """Whether a launcher says in what it printed that a rank of it failed."""
    return any(RANKS_FAILED.search(text) for text in texts)


class Decided(t.NamedTuple):
    """The line that says why a training ended, nothing of none; host: the name of the host that a launcher put before it."""

    line: str = ""
    host: str | None = None


def deciding_line(*texts: str, names: t.Container[str] = ()) -> Decided:
    """The first line with an error whose kind is known and that does not only follow from another one, else the first with any error; nothing of none.

    One that says only the kind of NCCL's result comes after those that say what failed. Where the lines show only that another rank ended, what torchrun's
    summary says of a rank that a signal ended; that one exited with a status says less than these lines. names: those of hosts that launchers have put
    before lines.
    """
    printed = [[of_host(line, names) for line in text.splitlines()] for text in texts]
    lines = [one for some in printed for one in _lines_of_errors(some) if not _says_nothing(one.line)]
    of_own = [one for one in lines if not follows(one.line) and not OF_A_SIGNAL.match(one.line)]
    own = [one for one in of_own if not is_of_a_command(one.line)]
    worded = [one for one in own if not says_only_a_result(one.line)]
    known = (one for one in worded if known_error(one.line) or has_a_class(one.line))
    texts = tuple("".join(f"{line}\n" for _host, line in some) for some in printed)
    last = (*_summaries(texts, by_signal=True), *of_own, *lines, *_summaries(texts, by_signal=False))
    first = next((one for one in (*known, *worded, *own, *last)), Decided())
    # The number of a rank says on which host it is, as far as that is known.
    shown = f"{first.host}: {first.line}" if first.host and not OF_A_RANK.match(first.line) else first.line
    return Decided(cut(shown), first.host)


def _lines_of_errors(printed_lines: t.Sequence[tuple[str | None, str]]) -> t.Iterator[Decided]:
    """The lines with an error and those that PyTorch prints below ``Last error:``, which quote NCCL's last warning; none of the program's own text.

    An error that ends with a colon has what it announces behind it, from the next line.
    """
    before = ""
    for (host, printed), (_host, following) in zip(printed_lines, [*printed_lines[1:], (None, "")]):
        line = printed.strip()
        of_error = (
            ERROR_FORM.search(without_settings(line))
            or QUALIFIED.match(line)
            or (OF_NCCL.search(line) and known_error(line))
            or (line and before.endswith("Last error:"))
        )
        if of_error and not (FRAME.search(before) and QUOTED_PROGRAM.match(printed)):
            announced = line.endswith(":") and not AROUND_AN_ERROR.search(line)
            yield Decided(f"{line} {SPEAKER.sub('', following).strip()}" if announced else line, host)
        before = line


def _says_nothing(line: str) -> bool:
    return bool(AROUND_AN_ERROR.search(line) or NO_ERROR.match(line)) or is_remark(line) or is_warning(line)


def _summaries(texts: t.Iterable[str], by_signal: bool) -> t.Iterator[Decided]:
    for found in (match for text in texts for match in SUMMARY.finditer(text) if (int(match["code"]) < 0) is by_signal):
        rank = f"rank {found['rank']} (local rank {found['local']}) of {found['host']}"
        yield Decided(f"by torchrun's summary {rank} failed first, at {found['time']}: {_end(int(found['code']))}")


def _end(code: int) -> str:
    """The exit status of a process in words; a negative one is that of a signal."""
    try:
        return f"exited on signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"exited with status {code}"
    except ValueError:
        return f"exited on signal {-code}"
