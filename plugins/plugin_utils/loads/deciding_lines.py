# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which line of all that a site's own training prints says why it ended."""

from __future__ import annotations

import re
import signal
import typing as t

from .ended_tasks import EXITED
from .error_classes import SPEAKER, says_only_a_result
from .launcher_errors import OF_NCCL, is_message, is_spoken, known_line, refused_by_launcher, with_subject
from .rank_errors import follows, known_error
from .remarks import is_of_a_command, is_remark, is_warning, without_settings
from .site_log import Said
from .unknown_errors import ERROR_FORM, NO_ERROR, cut, has_a_class, names_system_error

# What Python, PyTorch's launcher and libraries print around an error: where it passed, warnings, and that something ended.
AROUND_AN_ERROR = re.compile(
    r"^(?:\[\w*rank\s?\d+\]:?)?\s*(?:Traceback |File \"|raise |During handling |The above exception |frame #\d|"
    r"Failures:|<NO_OTHER_|Root Cause |\S+ FAILED$|\[\d+\]:$|(?:time|host|rank|exitcode|error_file|traceback)\s+:|\[?W\d{3,4} )|"
    r"Last error:$|srun: Job step aborted|Per user-direction, the job|mlx5: \S+: got completion with error:|closing signal|distributed/elastic/|"
    r"ChildFailedError|NCCL INFO|Warning: |Watchdog caught|"
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
# torchrun of a process that a signal ended, where its summary is cut off or printed by another one.
OF_A_PROCESS = re.compile(r"failed \(exitcode: -\d+\) local_rank: \d+")
# What srun says of a task that ended by itself comes after whatever that printed.
OF_A_TASK = re.compile(rf"^\S+: error: \S+: {EXITED.pattern}")
# What a kernel on the GPU prints before it ends itself, for which CUDA then reports a failure of its own, in another stream.
OF_A_KERNEL = re.compile(r"\bDeepEP \w+ .*\btimeout\b")
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

# How PyTorch and launchers, such as that of Composer, name the rank that a line is of.
SPEAKING = re.compile(r"\[[Rr]ank ?(\d+)\]|(?:\blauncher:Rank |\bGlobal rank |\bUnexpected result .{1,80} on rank )(\d+)")
# Ray names the host of an actor or task in a line of its own, so many lines before.
HOST_OF_RAY, OF_RAY = re.compile(r"\tip: |Memory on the node \(IP: "), 8
# Numbers that say what an error is; any other one may differ from rank to rank, as may an address. 0 of something is no error.
TELLING = re.compile(
    r"(?i)(?:status|err(?:or|no)?|code|synd(?:rome?)?|vend(?:or)?|signal|rc|ret(?:urned)?|failure|result|port)[\w.]*[ =:('-]*(?:0x)?[0-9a-f]+\b|\d+/\d+"
)
OF_NO_MATTER = re.compile(r"(?i)0x[0-9a-f]+|\b(?!0\b)\d+")
# The line above and below a message of Open MPI and PRRTE, which has no more lines than that.
RULE, MOST_OF_A_MESSAGE = re.compile(r"^-{40,}$"), 40


def says_that_ranks_failed(*texts: str) -> bool:
    """Whether a launcher says in what it printed that a rank of it failed."""
    return any(RANKS_FAILED.search(text) for text in texts)


class Decided(t.NamedTuple):
    """The line that says why a training ended, nothing of none; host: the name of the host that a launcher put before it; rank: the one that it is of."""

    line: str = ""
    host: str | None = None
    rank: int | None = None


def deciding_line(*logs: t.Sequence[Said]) -> Decided:
    """The first line with an error whose kind is known and that does not only follow from another one, else the first with any error; nothing of none.

    What a launcher prints of itself comes after what its ranks say, by the most specific of its messages. A line that says only the kind of NCCL's result
    comes after those that say what failed. Where the lines show only that another rank ended, what torchrun's summary says of a rank that a signal ended; that
    one exited with a status says less than these lines.
    """
    lines = [one for one in _first_of_each_form(logs) if not _says_nothing(one.line)]
    of_own = [one for one in lines if not follows(one.line) and not OF_A_SIGNAL.match(one.line)]
    own = [one for one in of_own if not is_of_a_command(one.line) and not OF_A_TASK.match(one.line)]
    worded = [one for one in own if not says_only_a_result(one.line)]
    of_kernels = (one for one in worded if OF_A_KERNEL.search(one.line))
    known = (one for one in worded if _is_known(one.line))
    of_launcher = _by_launcher(worded)
    last = (*_summaries(logs, by_signal=True), *_processes(logs), *of_own, *lines, *_summaries(logs, by_signal=False))
    first = next((one for one in (*of_kernels, *known, *of_launcher, *worded, *own, *last)), Decided())
    # The number of a rank says on which host it is, as far as that is known.
    shown = f"{first.host}: {first.line}" if first.host and first.rank is None else first.line
    return first._replace(line=cut(shown))


def speaking_rank(line: str) -> int | None:
    """The rank that a line is of, by what PyTorch and launchers call it there; None where they name none."""
    found = SPEAKING.search(line)
    return int(found[1] or found[2]) if found else None


def _is_known(line: str) -> bool:
    """Whether the kind of an error is known; the vocabulary of what ranks print says nothing of a launcher's own lines."""
    return known_error(line) is not None or (names_system_error(line) if is_spoken(line) else has_a_class(line))


def _by_launcher(lines: t.Sequence[Decided]) -> t.Iterator[Decided]:
    """The most specific of a launcher's own messages whose reason is known."""
    spoken = [one for one in lines if refused_by_launcher(one.line)]
    said = known_line("\n".join(one.line for one in spoken), worded=True)
    yield from [one for one in spoken if one.line.strip() == said][:1]


def _lines_of_errors(log: t.Sequence[Said]) -> t.Iterator[Decided]:
    """The lines with an error and those that PyTorch prints below ``Last error:``, which quote NCCL's last warning; none of the program's own text.

    An error that ends with a colon has what it announces behind it, from the next line; a message of several lines has the host behind it that it is about.
    """
    before = ""
    texts = [one.line for one in log]
    boxes, of_launchers = _boxes(texts), [line for line in texts if is_spoken(line)]
    for at, (said, following) in enumerate(zip(log, [*texts[1:], ""])):
        line = said.line.strip()
        of_error = (
            ERROR_FORM.search(without_settings(line))
            or QUALIFIED.match(line)
            or (OF_NCCL.search(line) and known_error(line))
            or (line and before.endswith("Last error:"))
        )
        box = next((box for box in boxes if at in box), None)
        # The prose of a message says what may be the reason, and not what is.
        of_prose = box is not None and at != box[0] and not is_message(line)
        if of_error and not of_prose and not (FRAME.search(before) and QUOTED_PROGRAM.match(said.line)):
            announced = line.endswith((":", "exited on")) and not AROUND_AN_ERROR.search(line)
            whole = f"{line} {SPEAKER.sub('', following).strip()}" if announced else line
            about = [texts[one] for one in box] if box else _details(texts, at) or (of_launchers if refused_by_launcher(line) else [])
            yield Decided(with_subject(whole, "\n".join(about)) if about else whole, said.host, speaking_rank(line) if said.rank is None else said.rank)
        before = line


def _boxes(lines: t.Sequence[str]) -> list[range]:
    """The messages of Open MPI that stand between two lines of dashes, as the numbers of their lines; other programs separate what they print so."""
    rules = [at for at, line in enumerate(lines) if RULE.match(line)]
    between = (range(rules[number - 1] + 1, rules[number]) for number in range(1, len(rules)))
    return [box for box in between if 0 < len(box) < MOST_OF_A_MESSAGE and is_message(lines[box[0]])]


def _details(lines: t.Sequence[str], at: int) -> list[str]:
    """The lines around one in which Ray says of which host it speaks: before it says why an actor died, and behind what it killed."""
    return [line for line in lines[max(0, at - OF_RAY) : at + 2] if HOST_OF_RAY.match(line)]


def _first_of_each_form(logs: t.Iterable[t.Sequence[Said]]) -> t.Iterator[Decided]:
    """The lines with an error, of those that differ by numbers of no matter the first alone: what decides on one decides on all, and a log has thousands."""
    seen: set[tuple[str, ...]] = set()
    for one in (one for log in logs for one in _lines_of_errors(log)):
        form = (OF_NO_MATTER.sub("#", one.line), *TELLING.findall(one.line))
        if form not in seen:
            seen.add(form)
            yield one


def _says_nothing(line: str) -> bool:
    return bool(AROUND_AN_ERROR.search(line) or NO_ERROR.match(line)) or is_remark(line) or is_warning(line)


def _summaries(logs: t.Iterable[t.Sequence[Said]], by_signal: bool) -> t.Iterator[Decided]:
    texts = ("".join(f"{one.line}\n" for one in log) for log in logs)
    for found in (match for text in texts for match in SUMMARY.finditer(text) if (int(match["code"]) < 0) is by_signal):
        rank = f"rank {found['rank']} (local rank {found['local']}) of {found['host']}"
        words = f"by torchrun's summary {rank} failed first, at {found['time']}: {_end(int(found['code']))}"
        yield Decided(words, found["host"], int(found["rank"]))


def _processes(logs: t.Iterable[t.Sequence[Said]]) -> t.Iterator[Decided]:
    return (Decided(one.line.strip(), one.host) for log in logs for one in log if OF_A_PROCESS.search(one.line))


def _end(code: int) -> str:
    """The exit status of a process in words; a negative one is that of a signal."""
    try:
        return f"exited on signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"exited with status {code}"
    except ValueError:
        return f"exited on signal {-code}"
