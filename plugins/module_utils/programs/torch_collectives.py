# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collectives in plain torch: exactly right, how fast, who comes late, and what each pair of GPUs of a host copies.

A whole program of torch and the standard library, started once on each host with ``ranks.py`` beside it. Values are integers that
no type rounds, so every rank knows every element that it must get. Bandwidths follow nccl-tests: algbw = bytes / time, where bytes are those
of the whole buffer, and busbw = algbw x 2(n-1)/n for all-reduce, 1 for broadcast and (n-1)/n for the others.
"""

from __future__ import annotations

import contextlib
import functools
import time

try:
    import gpu_copies
    import ranks
    import tensor_cores
except ImportError:
    from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import gpu_copies, ranks, tensor_cores

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all")
# The largest whole number up to which a type holds every whole number: a sum of all ranks must stay below.
EXACT = {"float32": 1 << 24, "float64": 1 << 53, "float16": 1 << 11, "bfloat16": 1 << 8, "int32": (1 << 31) - 1, "int64": (1 << 62), "int8": 127, "uint8": 255}
MOST_VALUES = 1009
STEP = 7
REFUSALS = (RuntimeError, TypeError, AttributeError, NotImplementedError)
CHUNK = 1 << 22
# The calls that are timed take a sixth of the time after which a rank that waits gives up: where each takes seconds, as gigabytes do over TCP,
# there are fewer of them, since slow is no hang.
TIMED_PART = 6


def options():
    """The program's options."""
    parser = ranks.parser(__doc__.splitlines()[0])
    parser.add_argument("--collectives", default=",".join(COLLECTIVES))
    parser.add_argument("--dtypes", default="float32,bfloat16,int64", help="of the small calls that are verified")
    parser.add_argument("--counts", default="0,1,3,1021,65537", help="elements a rank of the small calls")
    parser.add_argument("--sizes", default="", help="bytes of the calls that are timed, in float32, such as 1048576,67108864")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--copies", action="store_true", help="measure the copies between the host's GPUs too")
    parser.add_argument("--clocks", action="store_true", help="watch the clocks of the host's GPUs while calls are timed")
    return parser.parse_args()


def work(rank):
    """What a rank does: every small call, every timed one, then the copies of its GPU."""
    import torch
    import torch.distributed as dist

    wanted = rank.options
    device = _device(rank, torch)
    about = {"torch": torch.__version__, "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"}
    if wanted.backend == "nccl":
        about["library"] = ".".join(map(str, torch.cuda.nccl.version()))
    rank.report("about", **about)
    calls = Calls(rank, torch, dist, device)
    rank.enter("the first barrier")
    calls.barrier()
    rank.leave()
    names = [name for name in wanted.collectives.split(",") if name]
    for name in names:
        for dtype in filter(None, wanted.dtypes.split(",")):
            for count in filter(None, wanted.counts.split(",")):
                calls.verified(name, dtype, int(count))
    with _clocks_watched(rank, device):
        for size in filter(None, wanted.sizes.split(",")):
            for name in names:
                calls.timed(name, int(size))
    calls.barrier()
    if wanted.copies and device.type == "cuda" and rank.local == 0:
        gpu_copies.copies(rank, torch)


@contextlib.contextmanager
def _clocks_watched(rank, device):
    """The host's first rank watches the clocks of all its GPUs, where it is asked to."""
    if not rank.options.clocks or device.type != "cuda" or rank.local:
        yield
        return
    watch = tensor_cores.Watch(tensor_cores.CLOCKS_ALONE)
    try:
        yield
    finally:
        rank.report("gpu_clocks", lines=watch.end())


def _device(rank, torch):
    if rank.options.backend == "gloo":
        return torch.device("cpu")
    found = torch.cuda.device_count()
    if rank.local >= found:
        raise RuntimeError(f"{rank.local_world} ranks were requested and {found} GPUs were found")
    torch.cuda.set_device(rank.local)
    return torch.device("cuda", rank.local)


class Pattern:
    """Values that each rank can compute of every other: whole numbers from 0 that repeat after ``most``.

    Element i that rank r has for rank d is (h(i) + r x 7 + d x 11) mod most, where h mixes the position so that a shift shows.
    """

    def __init__(self, torch, device, dtype, world, summed):
        self.torch, self.device, self.dtype, self.world = torch, device, getattr(torch, dtype), world
        self.most = max(1, min(MOST_VALUES, EXACT[dtype] // (world if summed else 1)))
        # More ranks than the type can add up to: only every n-th has a one.
        self.each = -(-world // EXACT[dtype]) if summed and self.most == 1 else 0

    def table(self, rank, other=0):
        """The values of one rank by h(i) mod most, as whole numbers."""
        base = self.torch.arange(self.most, device=self.device, dtype=self.torch.int64)
        if self.each:
            return self.torch.full_like(base, int(rank % self.each == 0))
        return (base + rank * STEP + other * 11) % self.most

    def total(self, other=0):
        """The sum over all ranks by h(i) mod most."""
        return sum(self.table(rank, other) for rank in range(self.world))

    def spread(self, table, count, start=0):
        """A table laid out over ``count`` elements from position ``start``."""
        place = self.torch.arange(start, start + count, device=self.device, dtype=self.torch.int64)
        mixed = (place + place // 1021 + place // 1048573) % self.most
        return table[mixed].to(self.dtype)

    def filled(self, tensor, table):
        """Fill a tensor, in pieces, so that its positions do not take eight times its memory."""
        for start in range(0, tensor.numel(), CHUNK):
            piece = tensor[start : start + CHUNK]
            piece.copy_(self.spread(table, piece.numel(), start))
        return tensor

    def wrong(self, tensor, table):
        """How many elements of a result are not what they must be."""
        wrong = 0
        for start in range(0, tensor.numel(), CHUNK):
            piece = tensor[start : start + CHUNK]
            wrong += int((piece != self.spread(table, piece.numel(), start)).sum())
        return wrong


class Calls:
    """Every collective on this rank, verified and timed."""

    def __init__(self, rank, torch, dist, device):
        self.rank, self.torch, self.dist, self.device = rank, torch, dist, device
        self.world = rank.world

    def prepared(self, name, dtype, count):
        """One call on filled buffers, and what counts its wrong elements; ``count`` is of one rank's part."""
        pattern = Pattern(self.torch, self.device, dtype, self.world, name in ("all_reduce", "reduce_scatter"))
        return getattr(self, f"_{name}")(pattern, count)

    def _empty(self, pattern, count):
        return self.torch.empty(count, device=self.device, dtype=pattern.dtype)

    def _all_reduce(self, pattern, count):
        buffer = pattern.filled(self._empty(pattern, count), pattern.table(self.rank.rank))
        return lambda: self.dist.all_reduce(buffer), lambda: pattern.wrong(buffer, pattern.total())

    def _all_gather(self, pattern, count):
        whole = self._empty(pattern, count * self.world)
        part = pattern.filled(whole[count * self.rank.rank : count * (self.rank.rank + 1)], pattern.table(self.rank.rank))
        call = functools.partial(self.dist.all_gather_into_tensor, whole, part)
        if self.rank.options.backend == "gloo":
            call = functools.partial(self.dist.all_gather, list(whole.split(count)) if count else [whole[:0]] * self.world, part.clone())
        return call, lambda: sum(pattern.wrong(whole[count * r : count * (r + 1)], pattern.table(r)) for r in range(self.world))

    def _reduce_scatter(self, pattern, count):
        whole, part = self._empty(pattern, count * self.world), self._empty(pattern, count)
        for other in range(self.world):
            pattern.filled(whole[count * other : count * (other + 1)], pattern.table(self.rank.rank, other))
        return lambda: self.dist.reduce_scatter_tensor(part, whole), lambda: pattern.wrong(part, pattern.total(self.rank.rank))

    def _broadcast(self, pattern, count):
        root = count % self.world
        buffer = self._empty(pattern, count).zero_()
        if self.rank.rank == root:
            pattern.filled(buffer, pattern.table(root, 1))
        return lambda: self.dist.broadcast(buffer, root), lambda: pattern.wrong(buffer, pattern.table(root, 1))

    def _all_to_all(self, pattern, count):
        sent, got = self._empty(pattern, count * self.world), self._empty(pattern, count * self.world)
        for other in range(self.world):
            pattern.filled(sent[count * other : count * (other + 1)], pattern.table(self.rank.rank, other))

        def wrong(other):
            return pattern.wrong(got[count * other : count * (other + 1)], pattern.table(other, self.rank.rank))

        return lambda: self.dist.all_to_all_single(got, sent), lambda: sum(map(wrong, range(self.world)))

    def verified(self, name, dtype, count):
        """One call with known values; reports how many elements are wrong."""
        row = {"collective": name, "dtype": dtype, "count": count}
        if name == "all_gather" and count == 0 and self.rank.options.backend == "gloo" and self.torch.__version__.startswith("1."):
            self.rank.report("results", **row, wrong=None, unsupported="gloo of this torch divides by the size")
            return
        try:
            call, wrong = self.prepared(name, dtype, count)
            self.rank.enter(f"{name} of {count} {dtype}")
            call()
            self.finished()
            self.rank.leave()
            self.rank.report("results", **row, wrong=wrong(), unsupported=None)
        except REFUSALS as refused:
            if not self._unsupported(refused):
                raise
            self.rank.leave()
            self.rank.report("results", **row, wrong=None, unsupported=str(refused)[:200])

    def timed(self, name, size):
        """One size in float32, verified once and then timed; reports the rates and how late this rank came."""
        parts = 1 if name in ("all_reduce", "broadcast") else self.world
        count = max(1, size // 4 // parts)
        size = count * 4 * parts
        row = {"collective": name, "dtype": "float32", "size_bytes": size, "count": count}
        try:
            call, wrong = self.prepared(name, "float32", count)
            self.finished()
            self.rank.enter(f"{name} {size} bytes")
            late = self.late()
            call()
            self.finished()
            found = wrong()
            times = self._times(call)
            self.rank.leave()
            self.rank.enter(f"{name} {size} bytes, timed")
            seconds = self._seconds(call, times)
            self.rank.leave()
        except REFUSALS as refused:
            if not self._unsupported(refused):
                raise
            self.rank.leave()
            return
        factor = {"all_reduce": 2.0, "broadcast": self.world / max(1, self.world - 1)}.get(name, 1.0) * (self.world - 1) / self.world
        self.rank.report("rates", **row, wrong=found, time_us=seconds * 1e6, algbw_gbyte_s=size / seconds / 1e9,
                         busbw_gbyte_s=size / seconds / 1e9 * factor, late_ms=late * 1e3)  # fmt: skip

    def _times(self, call):
        """How many calls are timed, the same on every rank, after a first one and as many as warm up."""
        wanted = self.rank.options
        times = max(1, min(wanted.iterations, int(wanted.timeout / TIMED_PART / self._seconds(call, 1))))
        for _time in range(min(wanted.warmup, times) - 1):
            call()
        self.finished()
        return times

    def _seconds(self, call, times):
        """The time of one call, as the mean over so many and over the ranks."""
        self.barrier()
        began = time.perf_counter()
        for _time in range(times):
            call()
        self.finished()
        mine = self.torch.tensor([(time.perf_counter() - began) / times], device=self.device, dtype=self.torch.float64)
        self.dist.all_reduce(mine)
        return float(mine) / self.world

    def late(self):
        """How many seconds after the first rank this one arrives at a barrier: it waits that much less, and no clocks are compared.

        Every rank has just filled and verified as much as the others, so who is late is slow itself.
        """
        began = time.perf_counter()
        self.barrier()
        waited = time.perf_counter() - began
        all_waited = [self.torch.zeros(1, device=self.device, dtype=self.torch.float64) for _rank in range(self.world)]
        self.dist.all_gather(all_waited, self.torch.tensor([waited], device=self.device, dtype=self.torch.float64))
        return max(float(one) for one in all_waited) - waited

    def barrier(self):
        """Wait for all ranks."""
        self.dist.all_reduce(self.torch.zeros(1, device=self.device))
        self.finished()

    def _unsupported(self, refused):
        """Whether gloo says that it has no such call, which is not a wrong result."""
        words = str(refused).lower()
        return self.rank.options.backend == "gloo" and any(one in words for one in ("not support", "unsupported", "not implemented", "invalid scalar type"))

    def finished(self):
        """Wait for what was called; gloo's calls wait by themselves."""
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()


if __name__ == "__main__":
    raise SystemExit(ranks.run(__file__, options(), work))
