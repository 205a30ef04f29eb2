# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads on one node: started detached, watched, collected, and never left behind.

A load is a schedule of jobs under one supervisor process in a session of its own. The supervisor ends every job at its deadline, and all of them where the
controller has not watched the load for the length of the lease: a run that was killed, or a controller that lost its network, leaves nothing running. No job
starts once the controller has not watched for ``fresh`` seconds, which is less. Each process of a load is recorded with its id and start time, so that a later
run ends that process and no other.

A host is loaded for one run at a time. A run reserves all of its hosts before it loads any. The reservation is a file beside the loads that every login of the
host can read: its owner, and when it expires by the host's monotonic clock. Each watch renews it.
This file is a whole program of the standard library: actions pipe it to the node's Python with a request (see ``answer``).
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

MOST_BYTES = 8 * 1024 * 1024
GRACE_SECONDS = 2.0
AGAIN_SECONDS = 0.5
# For so long another controller's load stays there to be collected, and one without a record counts as being started by another program of this user.
KEPT_SECONDS, STARTING_SECONDS = 24 * 3600, 60
PLACE = "gpufabric.pyramid-"
RESERVED = "reserved.json"
# What another login wrote is read no further than this, and shown no further than that.
RESERVED_BYTES, SHOWN = 4096, 120
# What every process of a load carries in its environment: it identifies those that no record names yet, and those that left their session.
MARK = "GPUFABRIC_PYRAMID_LOAD"
JOB = "GPUFABRIC_PYRAMID_JOB"
# The labels of its containers, as in ``programs/containers.py``, which runtimes keep them by labels, and for how long one may list or remove some.
LABELS, LABELLING, RUNTIME_SECONDS = ("gpufabric.pyramid.load", "gpufabric.pyramid.job"), ("docker", "podman"), 10
HUNG = "hung in the kernel or in the container runtime"
NEVER = {"status": "never", "rc": None, "stdout": "", "stderr": "", "seconds": 0.0, "attempts": 0, "cut": False, "began": None}
BESIDE = {"/usr/local/bin": "/usr/local/sbin", "/usr/bin": "/usr/sbin", "/bin": "/sbin"}


def answer(request):
    """Do what a request says, and return what came of it; every request has ``do`` and ``load`` (a name that is a file name).

    ``reserve``, ``release``: take the host for a run, and give it back, by ``reservation``: ``owner``, ``who`` (words), ``run_id`` and ``seconds`` (how long
    it lasts); start, watch and collect renew it where they have it. ``start``: end what earlier loads of the same ``owner`` (the pod's place on its
    controller) left, then start this one; a running load of another owner makes it refuse. It has ``beside`` (only a load of the same name is a leftover,
    whatever else runs), ``run_id``, ``start_in`` (seconds until the schedule begins), ``lease`` (seconds, or None), ``fresh`` (seconds without a further
    watch after which no job starts, or None), ``programs`` (name to source text, for arguments that refer to them as ``{name}``), ``files`` (file name
    to text, beside them) and ``jobs``.
    ``clear``: end every load of an ``owner`` whose run is over, and give the host back where it is reserved for one; returns ``ended``, what still ran.
    ``watch``: renew the lease, and wait at most ``wait`` seconds for the end. ``collect``: also end what still runs, and remove the load. ``end``: end it now.
    A job: ``id``, ``argv``, ``at`` and ``until`` (seconds of the schedule), ``again`` (words on standard error with which it is tried again), ``near`` (an RDMA
    device whose CPUs it is pinned to, or None), ``runtime`` (docker, podman or enroot where it starts containers, else nothing), ``turn`` (None, or a number:
    it starts before its time where every job before its turn has ended), ``environment`` (added to this one's) and ``without`` (beginnings of names removed).
    Returns ``refused`` (words, or None) of reserve, release and start, and ``ended_leftovers`` of start; of the others ``ended`` (why, or None while it runs),
    ``jobs`` and ``done`` (how many there are, and have ended); of collect also ``boot_id``, ``uptime_seconds`` and ``answers`` by id: ``status`` (ran,
    missing, denied, timeout, hung, stopped or never), ``argv``, ``rc``, ``stdout``, ``stderr``, ``seconds``, ``began``, ``attempts``, ``cut``.
    """
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join([*path, *(BESIDE[place] for place in path if place in BESIDE and BESIDE[place] not in path)])
    os.umask(0o077)
    base = _base()
    if request["do"] == "release":
        return _release(base, request["reservation"])
    if request["do"] == "clear":
        return _clear(base, request["owner"])
    if request["do"] in ("reserve", "start"):
        refused = _reserve(base, request)
        return {"refused": refused, "ended_leftovers": []} if refused or request["do"] == "reserve" else _start(base, request)
    if request.get("reservation"):
        # What cannot be renewed expires; it must not cost the load its end and what it printed.
        with contextlib.suppress(OSError):
            _reserve(base, request)
    return {"watch": _watch, "collect": _collect, "end": _end}[request["do"]](os.path.join(base, request["load"]), request)


def _base():
    """The directory of this user's loads; refused where another user made it."""
    place = os.path.join(tempfile.gettempdir(), f"{PLACE}{os.getuid()}")
    for path in (place, os.path.join(place, "loads")):
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise SystemExit(f"{path} is not a directory of this user")
    # Other logins look up the reservation in it by its name, and see nothing else.
    os.chmod(place, 0o711)
    return os.path.join(place, "loads")


def _reserve(base, request):
    """Take or renew the host for a run's loads; words where it is another's, None where it is free or this run's.

    A load without a reservation, as a task by hand starts it, takes none and respects those of others.
    """
    place, wanted = os.path.dirname(base), request.get("reservation")
    owner = (wanted or request)["owner"]
    own = os.path.join(place, RESERVED)
    with _exclusive(place):
        mine = _reservation(own)
        if mine is not None and mine["owner"] != owner:
            return _reserved_by(mine)
        if wanted:
            _write(own, dict(wanted, boot_id=_boot_id(), until=time.monotonic() + wanted["seconds"]))
            os.chmod(own, 0o644)
        if mine is not None and wanted:
            return None
        # Each of two logins writes first and looks then, so that they cannot both miss the other's.
        for path in glob.glob(os.path.join(tempfile.gettempdir(), f"{PLACE}*", RESERVED)):
            theirs = None if path == own else _reservation(path)
            if theirs is not None and theirs["owner"] != owner:
                if wanted:
                    os.unlink(own)
                return _reserved_by(theirs)
    return None


def _release(base, wanted):
    """Give the host back, where it is this run's."""
    place = os.path.dirname(base)
    with _exclusive(place):
        mine = _reservation(os.path.join(place, RESERVED))
        if mine is not None and (mine["owner"], mine["run_id"]) == (wanted["owner"], wanted["run_id"]):
            os.unlink(os.path.join(place, RESERVED))
    return {"refused": None}


def _clear(base, owner):
    """End what the loads of an owner left, and give the host back where it is reserved for them."""
    ended = []
    places = [os.path.join(base, name) for name in sorted(os.listdir(base))]
    # One that is being started has its record in a moment.
    _await(lambda: all(_read(os.path.join(place, "record.json")) or _seconds_since_written(place) > STARTING_SECONDS for place in places), GRACE_SECONDS)
    for place in places:
        record = _read(os.path.join(place, "record.json"))
        if record is not None and record["owner"] == owner:
            if _running(place, record):
                ended.append(f"{os.path.basename(place)} of run {record['run_id']}: {_end(place, {})['ended']}")
            shutil.rmtree(place, ignore_errors=True)
    place = os.path.dirname(base)
    with _exclusive(place):
        mine = _reservation(os.path.join(place, RESERVED))
        if mine is not None and mine["owner"] == owner:
            os.unlink(os.path.join(place, RESERVED))
    return {"ended": ended}


@contextlib.contextmanager
def _exclusive(place):
    handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            # Where a file system cannot lock a directory, two runs of one login that begin at one moment are distinguished by the rest.
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _reservation(path):
    """A reservation that has not expired, or None; what another login wrote is data that may be anything."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            kept = json.loads(file.read(RESERVED_BYTES))
        words = {key: str(kept[key]) for key in ("owner", "who", "run_id")}
        left = float(kept["until"]) - time.monotonic()
        return dict(words, left=left) if kept["boot_id"] == _boot_id() and left > 0 else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _reserved_by(there):
    who, run_id, owner = ("".join(one if one.isprintable() else "?" for one in there[key])[:SHOWN] for key in ("who", "run_id", "owner"))
    return (
        f"this host is reserved for the loads of run {run_id} of {who}, whose runs are in {owner}; wait until that run ends: "
        f"the reservation expires {there['left']:.0f} s from now unless that run renews it"
    )


def _write(path, document):
    fresh = f"{path}.{os.getpid()}.{threading.get_ident()}"
    with open(fresh, "w", encoding="utf-8") as file:
        json.dump(document, file)
    os.replace(fresh, path)


def _read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def _born(pid):
    """When a process started, in ticks since boot; None where there is none, or only its corpse."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def _alive(who):
    return bool(who) and who["born"] is not None and _born(who["pid"]) == who["born"] and who["boot_id"] == _boot_id()


def _boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def _uptime():
    with open("/proc/uptime", encoding="ascii") as file:
        return float(file.read().split()[0])


def _who(pid):
    return {"pid": pid, "born": _born(pid), "boot_id": _boot_id()}


def _start(base, request):
    ended = []
    for name in [request["load"]] if request.get("beside") else sorted(os.listdir(base)):
        place = os.path.join(base, name)
        record = _read(os.path.join(place, "record.json"))
        if record is not None and _running(place, record):
            if record["owner"] != request["owner"]:
                words = f"a load of run {record['run_id']} from {record['owner']} is under way here; it ends by itself"
                return {"refused": words, "ended_leftovers": ended}
            _end(place, {})
            ended.append(f"{name} of run {record['run_id']}")
        own = name == request["load"] or (record is not None and record["owner"] == request["owner"])
        if own or _seconds_since_written(place) > (STARTING_SECONDS if record is None else KEPT_SECONDS):
            shutil.rmtree(place, ignore_errors=True)
    place = os.path.join(base, request["load"])
    os.mkdir(place, 0o700)
    for name, text in {**{f"{name}.py": text for name, text in request.get("programs", {}).items()}, **request.get("files", {})}.items():
        with open(os.path.join(place, name), "w", encoding="utf-8") as file:
            file.write(text)
    _renew(place, request)
    _detach(place, request)
    return {"refused": None, "ended_leftovers": ended}


def _seconds_since_written(place):
    """How long ago something was last written in a load's directory; 0 of one that another program has just removed."""
    with contextlib.suppress(OSError):
        return time.time() - os.lstat(place).st_mtime
    return 0.0


def _renew(place, request):
    """Note that the controller has looked at a load, and for how long that lets further jobs start."""
    _write(os.path.join(place, "lease"), {"at": time.monotonic(), "fresh": request.get("fresh")})


def _running(place, record):
    return _alive(record["supervisor"]) or any(_alive(who) for who in (*_jobs(place), *_marked(place))) or any(_containers(place))


def _jobs(place):
    with contextlib.suppress(OSError):
        yield from filter(None, (_read(os.path.join(place, "running", name)) for name in os.listdir(os.path.join(place, "running"))))


def _detach(place, request):
    """Become two processes: this one goes on once the supervisor's record is written."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            os.close(reader)
            os.setsid()
            if os.fork() == 0:
                _supervise(place, request, writer)
        finally:
            os._exit(0)
    os.close(writer)
    os.wait()
    if os.read(reader, 1) != b".":
        raise SystemExit("the supervisor of the load did not start")


def _supervise(place, request, writer):
    nothing = os.open(os.devnull, os.O_RDWR)
    log = os.open(os.path.join(place, "log"), os.O_WRONLY | os.O_CREAT, 0o600)
    for number, target in enumerate((nothing, nothing, log)):
        os.dup2(target, number)
    os.chdir(place)
    for name in ("running", "answers", "output"):
        os.mkdir(os.path.join(place, name), 0o700)
    record = {key: request[key] for key in ("owner", "run_id", "load")}
    runtimes = sorted({job["runtime"] for job in request["jobs"] if job.get("runtime") in LABELLING})
    _write(os.path.join(place, "record.json"), dict(record, supervisor=_who(os.getpid()), jobs=len(request["jobs"]), runtimes=runtimes))
    os.write(writer, b".")
    os.close(writer)
    _Supervisor(place, request).run()


class _Supervisor:
    """Starts each job at its time, ends it at its own, and ends them all when it is asked to, or forgotten."""

    def __init__(self, place, request):
        self.place, self.request = place, request
        self.began = time.monotonic() + request["start_in"]
        self.stopping = threading.Event()
        # Readable from the moment at which the load is to stop.
        self.stopped, self.stopper = os.pipe()
        self.why = None
        self.processes = {}
        self.lock = threading.Lock()

    def run(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda _number, _frame: self.stop("ended on request"))
        waiting = sorted(enumerate(self.request["jobs"]), key=lambda pair: pair[1]["at"])
        threads, early = [], {}
        while waiting or any(thread.is_alive() for thread in threads):
            now = time.monotonic() - self.began
            first = waiting[0][1] if waiting else {"turn": None}
            if first["turn"] is not None and first["turn"] not in early and now > 0 and not any(thread.is_alive() for thread in threads):
                early[first["turn"]] = max(0.0, first["at"] - now)
            while waiting and (waiting[0][1]["at"] - early.get(waiting[0][1]["turn"], 0.0) <= now or self.stopping.is_set()):
                threads += self.thread(*waiting.pop(0))
            lease = self.request["lease"]
            if lease is not None and self.unwatched()[0] > lease:
                self.stop(f"not watched for {lease} s")
            time.sleep(0.1)
        left = _swept(self.place)
        _write(os.path.join(self.place, "ended.json"), f"{HUNG}: {left}" if left else self.why or "done")

    def unwatched(self):
        """For how many seconds the controller has not looked at the load, and after how many of them no job starts, or None."""
        kept = _read(os.path.join(self.place, "lease")) or {"at": 0, "fresh": 0}
        return time.monotonic() - kept["at"], kept["fresh"]

    def too_late(self):
        """Why no job may start any more, in words, or None: a controller that is gone must not load the host further."""
        seconds, fresh = self.unwatched()
        if fresh is None or seconds <= fresh:
            return None
        return f"the controller had not looked at this load for {seconds:.0f} s when it was to start, and {fresh:.0f} s are allowed"

    def thread(self, number, job):
        """A job's thread, started; none where the node has none left, which must not cost the other jobs their supervisor."""
        thread = threading.Thread(target=self.job, args=(number, job), daemon=True)
        try:
            thread.start()
        except RuntimeError as failed:
            result = dict(NEVER, id=job["id"], argv=job["argv"], status="failed", stderr=f"{job['argv'][0]} could not be run: {failed}")
            _write(os.path.join(self.place, "answers", f"{number}.json"), result)
            return []
        return [thread]

    def stop(self, why):
        self.why = self.why or why
        self.stopping.set()
        os.write(self.stopper, b".")

    def job(self, number, job):
        result, late = dict(NEVER, id=job["id"], argv=job["argv"]), None
        try:
            while not self.stopping.is_set() and (result["attempts"] == 0 or self.again(job, result)) and not (late := self.too_late()):
                before, fresh = result["stderr"], self.once(number, job)
                # The attempt that its deadline ended has reported nothing yet; the one before has.
                fresh["stderr"] = before if fresh.get("status") == "timeout" and not fresh["stderr"] else fresh["stderr"]
                result.update(fresh, attempts=result["attempts"] + 1)
        except Exception as broken:  # the load's record must say so, whatever it was
            result.update(status="stopped", stderr=f"{type(broken).__name__}: {broken}")
        if result["status"] == "never":
            result["stderr"] = self.why or late or ""
        _write(os.path.join(self.place, "answers", f"{number}.json"), result)

    def again(self, job, result):
        left = job["until"] - (time.monotonic() - self.began)
        wanted = result["status"] == "ran" and result["rc"] != 0 and any(words in result["stderr"] + result["stdout"] for words in job["again"])
        return wanted and left > AGAIN_SECONDS and not self.stopping.wait(AGAIN_SECONDS)

    def once(self, number, job):
        argv = [word.replace("{place}", self.place) for word in job["argv"]]
        argv = [word.replace("{job}", str(number)) for word in argv] if job.get("runtime") else argv
        for name in self.request.get("programs", {}):
            argv = [word.replace("{" + name + "}", os.path.join(self.place, name + ".py")) for word in argv]
        argv = _pinned(argv, job.get("near"))
        result = {"argv": argv, "rc": None, "stdout": "", "stderr": "", "seconds": 0.0, "began": round(time.monotonic() - self.began, 3)}
        outputs = [os.path.join(self.place, "output", f"{number}.{name}") for name in ("out", "err")]
        began = time.monotonic()
        try:
            with open(outputs[0], "wb") as out, open(outputs[1], "wb") as err:
                own = {name: value for name, value in os.environ.items() if not name.startswith(tuple(job.get("without", ())))}
                environment = {**own, "LC_ALL": "C", "TERM": "dumb", **job.get("environment", {}), MARK: self.place, JOB: str(number)}
                process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, env=environment)
        except PermissionError as refused:
            return dict(result, status="denied", stderr=str(refused))
        except FileNotFoundError:
            return dict(result, status="missing", stderr=f"{argv[0]}: not found on PATH")
        except OSError as failed:
            return dict(result, status="failed", stderr=f"{argv[0]} could not be run: {failed}")
        running = os.path.join(self.place, "running", f"{number}.json")
        _write(running, _who(process.pid))
        result["status"] = self.awaited(process, job)
        if result["status"] != "hung":
            os.unlink(running)
        if result["status"] != "ran":
            # The next job is not to share the host with what this one started; after a good end, the load's own end is soon enough.
            _swept(self.place, number)
        (result["stdout"], cut), (result["stderr"], _cut) = (_kept(path) for path in outputs)
        if result["status"] == "stopped":
            result["stderr"] += self.why or ""
        return dict(result, rc=process.returncode, cut=cut, seconds=round(time.monotonic() - began, 3))

    def awaited(self, process, job):
        """How a job ended: by itself, by its deadline, or with the whole load."""
        with _end_of(process) as end:
            while process.poll() is None:
                left = job["until"] - (time.monotonic() - self.began)
                if self.stopping.is_set() or left < 0:
                    how = "stopped" if self.stopping.is_set() else "timeout"
                    return how if _gone(process) else "hung"
                _until_ended(process, end, self.stopped, left)
        # What the tool itself left in its session goes with it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        return "ran"


@contextlib.contextmanager
def _end_of(process):
    """What is readable once a process has ended, or None where the kernel (before 5.3) or Python (before 3.9) has no such thing."""
    try:
        end = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield end
    finally:
        os.close(end)


def _until_ended(process, end, stopped, seconds):
    """Wait until a process ends or its load is to stop, or for some seconds; without an end to await, look ten times a second.

    Hundreds of waiting tests that look for themselves would take from the CPU that the tests are run on.
    """
    if end is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
        return
    both = select.poll()
    for one in (end, stopped):
        both.register(one, select.POLLIN)
    both.poll(1000 * seconds + 1)


def _gone(process):
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        return True
    return False


def _pinned(argv, device):
    """On the CPUs of the NIC's own NUMA node, where the node says which; memory follows by first touch."""
    try:
        with open(f"/sys/class/infiniband/{device}/device/local_cpulist", encoding="ascii") as file:
            cpus = file.read().strip()
    except OSError:
        return argv
    own = {cpu for first, last in re.findall(r"(\d+)(?:-(\d+))?", cpus) for cpu in range(int(first), int(last or first) + 1)}
    # In a container, none of them may be its own, and taskset would fail.
    return ["taskset", "-c", cpus, *argv] if own & os.sched_getaffinity(0) and shutil.which("taskset") else argv


def _kept(path):
    """The first MOST_BYTES of a file, and whether there was more."""
    with open(path, "rb") as file:
        text = file.read(MOST_BYTES + 1)
    return text[:MOST_BYTES].decode("utf-8", "replace"), len(text) > MOST_BYTES


def _watch(place, request):
    until = time.monotonic() + request.get("wait", 0)
    if os.path.isdir(place):
        _renew(place, request)
    state = _state(place)
    while state["ended"] is None and time.monotonic() < until:
        time.sleep(0.2)
        state = _state(place)
    return state


def _state(place):
    record = _read(os.path.join(place, "record.json"))
    if record is None:
        return {"ended": "it is not known here", "jobs": 0, "done": 0}
    ended = _read(os.path.join(place, "ended.json"))
    if ended is None and not _alive(record["supervisor"]):
        ended = "its supervisor has died"
    return {"ended": ended, "jobs": record["jobs"], "done": len(_answers(place))}


def _collect(place, request):
    state = _watch(place, request)
    if state["ended"] is None:
        _end(place, request)
        state = dict(_state(place), ended="it did not end in time")
    answers = [_read(path) for path in _answers(place)]
    shutil.rmtree(place, ignore_errors=True)
    return dict(state, answers={result["id"]: result for result in answers if result is not None}, boot_id=_boot_id(), uptime_seconds=_uptime())


def _answers(place):
    """The files of the jobs that have ended."""
    with contextlib.suppress(OSError):
        return [os.path.join(place, "answers", name) for name in sorted(os.listdir(os.path.join(place, "answers"))) if name.endswith(".json")]
    return []


def _end(place, _request):
    """End a load: its supervisor ends its jobs; where that one is dead or deaf, they are ended by their recorded ids."""
    record = _read(os.path.join(place, "record.json")) or {}
    supervisor = record.get("supervisor")
    for number in (signal.SIGTERM, signal.SIGKILL):
        if _alive(supervisor):
            with contextlib.suppress(ProcessLookupError):
                os.kill(supervisor["pid"], number)
            _await(lambda: not _alive(supervisor), 3 * GRACE_SECONDS)
    left = _swept(place)
    return {"ended": f"{HUNG}: {left}" if left else "ended on request", "jobs": record.get("jobs", 0), "done": 0}


def _swept(place, number=None):
    """End what is left of a load, or of one of its jobs, by the ids; those that the kernel or the runtime does not let go.

    Containers go first: who would remove one that ends is a process of the load.
    """
    for runtime, one in _containers(place, number):
        for words in (["kill"], ["rm", "--force"]):
            _asked([runtime, *words, one])
    mine = [*(_jobs(place) if number is None else ()), *_marked(place, number)]
    for who in mine:
        if _alive(who):
            with contextlib.suppress(ProcessLookupError):
                os.kill(who["pid"], signal.SIGKILL)
    left = sorted({who["pid"] for who in mine if not _await(lambda who=who: not _alive(who), GRACE_SECONDS)})
    return [*left, *(one[:12] for _runtime, one in _containers(place, number) if not _await(lambda: not any(_containers(place, number)), GRACE_SECONDS))]


def _containers(place, number=None):
    """The runtime and the id of every container of a load, or of one of its jobs."""
    for runtime in (_read(os.path.join(place, "record.json")) or {}).get("runtimes", ()):
        labels = [f"{LABELS[0]}={place}", *([] if number is None else [f"{LABELS[1]}={number}"])]
        ids = _asked([runtime, "ps", "--all", "--quiet", "--no-trunc", *(word for label in labels for word in ("--filter", f"label={label}"))])
        yield from ((runtime, one) for one in ids.split())


def _asked(argv):
    """What a command prints; nothing where it fails or gives no answer in time."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUNTIME_SECONDS, check=False).stdout
    return ""


def _marked(place, number=None):
    """Every process that was started for a load, or for one of its jobs, children of jobs among them."""
    marks = {f"{MARK}={place}".encode(), *([] if number is None else [f"{JOB}={number}".encode()])}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
            if marks <= set(file.read().split(b"\0")) and _is_here(name, place):
                yield _who(int(name))


def _is_here(pid, place):
    """Whether a place is the same directory for a process; containers of one node that share its processes may have one of the same name each."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.stat(f"/proc/{pid}/root{place}"), os.stat(place))
    return True


def _await(holds, seconds):
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


if __name__ == "__main__":
    # The request follows the program: REQUEST is set by whoever pipes it.
    json.dump({"detached": answer(json.loads(globals()["REQUEST"]))}, sys.stdout)
    sys.stdout.flush()
