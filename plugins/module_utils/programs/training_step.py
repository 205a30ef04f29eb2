# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Training steps of a small GPT in plain torch: how long each takes on each rank, where the time goes, and whether all ranks agree.

A whole program of torch and the standard library, started once on each host with ``ranks.py`` beside it. Tokens are made up, nothing is
downloaded and no checkpoint is written. A step is divided on each rank into the wait for data, its own computation up to its last gradient,
and the rest, in which it waits for the slowest rank and for the network. FLOPs are counted as 6 x parameters x tokens for the matrices and
12 x layers x width x length x tokens for attention, as Megatron-LM's paper does without recomputation.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import time

try:
    import ranks
    import small_gpt
    import tensor_cores
except ImportError:
    from ansible_collections.gpufabric.pyramid.plugins.module_utils.programs import ranks, small_gpt, tensor_cores

# Sizes by the GPU's memory; ``auto`` takes the first that fits.
NEEDS_GIB = (("large", 120), ("medium", 70), ("small", 0))
GEMM = 8192
GEMM_TIMES = 30
# A longer run is reported in windows of this many steps.
MOST_ROWS = 2000


def options():
    """The program's options."""
    parser = ranks.parser(__doc__.splitlines()[0])
    parser.add_argument("--strategy", choices=("ddp", "fsdp"), default="ddp")
    parser.add_argument("--size", choices=("auto", *small_gpt.SIZES), default="auto")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0.0, help="train this long instead of a number of steps")
    parser.add_argument("--warmup", type=int, default=10, help="steps before the first that counts")
    parser.add_argument("--window", type=int, default=0, help="steps to a row; 0 is 1, or what keeps a long run below 2000 rows")
    return parser.parse_args()


def work(rank):
    """What a rank does: its own matrix rate, the proof that ranks train as one process would, then the steps."""
    import torch

    device = torch.device("cuda", rank.local) if rank.options.backend == "nccl" else torch.device("cpu")
    name = "cpu"
    if device.type == "cuda":
        if rank.local >= torch.cuda.device_count():
            raise RuntimeError(f"{rank.local_world} ranks were requested and {torch.cuda.device_count()} GPUs were found")
        torch.cuda.set_device(device)
        name = torch.cuda.get_device_name(device)
    rank.report("about", torch=torch.__version__, device=name, gemm_tflops=_gemm(torch, device))
    _same_as_one_process(rank, torch, device)
    Training(rank, torch, device, name).run()


def _gemm(torch, device):
    """This GPU's own bf16 matrix rate in TFLOP/s, with nothing beside it; None on a CPU."""
    if device.type != "cuda":
        return None
    a, b = (torch.randn(GEMM, GEMM, device=device, dtype=torch.bfloat16) for _matrix in range(2))
    for _time in range(5):
        a @ b
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _time in range(GEMM_TIMES):
        a @ b
    torch.cuda.synchronize()
    return 2 * GEMM**3 * GEMM_TIMES / (time.perf_counter() - began) / 1e12


def _wrapped(torch, model, block, device, strategy):
    if strategy == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index] if device.type == "cuda" else None)
    import functools

    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={block})
    return FullyShardedDataParallel(model, auto_wrap_policy=policy, device_id=device, use_orig_params=True)


def _same_as_one_process(rank, torch, device):
    """Three steps of a tiny model in float64, sharded over the ranks and on each rank alone with all data; reports how far the losses differ."""
    layers, width, heads, length, sequences, vocabulary = small_gpt.SIZES["tiny"]
    models = []
    for alone in (True, False):
        model, block = small_gpt.model_of(torch, layers, width, heads, length, vocabulary)
        model = model.double().to(device)
        models.append(model if alone else _wrapped(torch, model, block, device, rank.options.strategy))
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
    rank.enter("steps against one process")
    furthest = 0.0
    for step in range(3):
        shards = [small_gpt.tokens_of(torch, device, step, other, sequences, length, vocabulary) for other in range(rank.world)]
        whole = models[0](torch.cat([tokens for tokens, _targets in shards]), torch.cat([targets for _tokens, targets in shards]))
        part = models[1](*shards[rank.rank])
        mean = part.detach().clone()
        torch.distributed.all_reduce(mean)
        furthest = max(furthest, abs(float(mean) / rank.world / float(whole.detach()) - 1))
        for loss, optimizer in zip((whole, part), optimizers):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    rank.leave()
    rank.report("agreements", what="one process", strategy=rank.options.strategy, difference=None if math.isnan(furthest) else furthest)


class Training:
    """The steps of one rank."""

    def __init__(self, rank, torch, device, name):
        self.rank, self.torch, self.device = rank, torch, device
        self.size = self._size()
        self.layers, self.width, heads, self.length, self.sequences, self.vocabulary = small_gpt.SIZES[self.size]
        rank.enter("building the model")
        model, block = small_gpt.model_of(torch, self.layers, self.width, heads, self.length, self.vocabulary)
        self.parameters = sum(one.numel() for one in model.parameters())
        self.model = _wrapped(torch, model.to(device), block, device, rank.options.strategy)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4 if self.size == "tiny" else 1e-4)
        rank.leave()
        self.ready, self.finite, self.ended = None, True, 0.0
        if rank.options.strategy == "ddp":
            from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

            self.model.register_comm_hook(None, self._hooked(allreduce_hook))
        peak = tensor_cores.peak_tflops(name)
        per_token = 6 * (self.parameters - self.vocabulary * self.width - self.length * self.width) + 12 * self.layers * self.width * self.length
        self.flops = per_token * self.length * self.sequences
        rank.report(
            "about", size=self.size, parameters=self.parameters, tokens_per_step=self.length * self.sequences, flops_per_step=self.flops, peak_tflops=peak
        )

    def _size(self):
        if self.rank.options.size != "auto":
            return self.rank.options.size
        if self.device.type != "cuda":
            return "tiny"
        gib = self.torch.cuda.get_device_properties(self.device).total_memory / (1 << 30)
        return next(name for name, needs in NEEDS_GIB if gib >= needs)

    def _mark(self):
        """A point in this rank's own computation; on a GPU in the order of its stream, not of the host."""
        if self.device.type != "cuda":
            return time.perf_counter()
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _hooked(self, exchange):
        def hook(state, bucket):
            # The last call of a step is when this rank's last gradients are ready.
            self.ready = self._mark()
            return exchange(state, bucket)

        return hook

    def _between(self, first, second):
        return (second - first) * 1e3 if self.device.type != "cuda" else first.elapsed_time(second)

    def run(self):
        """Warm up, train, and say what the ranks have in the end."""
        wanted, step, rows = self.rank.options, 0, _Rows(self.rank)
        self.ended = time.perf_counter()
        with self._tensor_cores_watched():
            for _step in range(wanted.warmup):
                self._step(step)
                step += 1
            self.rank.report("about", warmup=wanted.warmup)
            until = time.monotonic() + wanted.seconds
            first = step
            while self._goes_on(step - first, until):
                row = self._step(step)
                rows.add(step, row)
                step += 1
                if not self.finite:
                    # A value that is no number spreads to every rank; what follows would say nothing, and all ranks stop at the same step.
                    break
        rows.flush()
        self._agree()

    @contextlib.contextmanager
    def _tensor_cores_watched(self):
        """The host's first rank watches those of all its GPUs."""
        if self.device.type != "cuda" or self.rank.local:
            yield
            return
        watch = tensor_cores.Watch()
        try:
            yield
        finally:
            self.rank.report("tensor_cores", lines=watch.end())

    def _goes_on(self, done, until):
        """Whether there is another step; where a time was given, the first rank's clock decides for all."""
        if not self.rank.options.seconds:
            return done < self.rank.options.steps
        if done % 10:
            return True
        more = self.torch.tensor([1.0 if time.monotonic() < until else 0.0], device=self.device)
        self.torch.distributed.broadcast(more, 0)
        return bool(more.item())

    def _step(self, step):
        began = self.ended
        tokens, targets = small_gpt.tokens_of(self.torch, self.device, step, self.rank.rank, self.sequences, self.length, self.vocabulary)
        data = time.perf_counter() - began
        self.rank.enter(f"step {step}")
        start, self.ready = self._mark(), None
        self.optimizer.zero_grad()
        with self.torch.autocast(self.device.type, dtype=self.torch.bfloat16, enabled=self.device.type == "cuda"):
            loss = self.model(tokens, targets)
        loss.backward()
        self.optimizer.step()
        value, mean = float(loss), loss.detach().clone()
        self.torch.distributed.all_reduce(mean)
        self.finite = math.isfinite(float(mean))
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()
        self.rank.leave()
        # A step lasts from the end of the one before, so that nothing a rank does is left out.
        self.ended = time.perf_counter()
        seconds = self.ended - began
        compute = self._between(start, self.ready) if self.ready is not None else None
        return {
            "step_ms": seconds * 1e3,
            "data_ms": data * 1e3,
            "compute_ms": compute,
            "other_ms": None if compute is None else max(0.0, seconds * 1e3 - data * 1e3 - compute),
            "loss": value if math.isfinite(value) else None,
        }

    def _agree(self):
        """Tell checksums of this rank's parameters, gradients and optimizer; with DDP all ranks have the same to the last bit."""
        self.rank.enter("checksums")
        sharded = self.rank.options.strategy == "fsdp"
        state = [value for one in self.optimizer.state.values() for value in one.values() if self.torch.is_tensor(value)]
        groups = {
            "parameters": [one.detach() for one in self.model.parameters()],
            "gradients": [one.grad for one in self.model.parameters() if one.grad is not None],
            "optimizer": state,
        }
        for what, tensors in groups.items():
            finite = all(bool(self.torch.isfinite(one).all()) for one in tensors)
            self.rank.report("agreements", what=what, strategy=self.rank.options.strategy, finite=finite, checksum=None if sharded else self._checksum(tensors))
        self.rank.leave()

    def _checksum(self, tensors):
        digest = hashlib.sha256()
        for one in tensors:
            bits = one.detach().contiguous().flatten().float()
            # A sum of the bits as whole numbers wraps around, but never rounds.
            digest.update(str(int(bits.view(self.torch.int32).to(self.torch.int64).sum())).encode())
            digest.update(str(int((bits.view(self.torch.int32).to(self.torch.int64)[::7] * 31).sum())).encode())
        return digest.hexdigest()[:16]


class _Rows:
    """Steps reported one by one, or in windows where there are many."""

    def __init__(self, rank):
        wanted = rank.options
        self.rank, self.rows, self.first = rank, [], None
        self.window = wanted.window or (100 if wanted.seconds else -(-wanted.steps // MOST_ROWS))

    def add(self, step, row):
        """Keep one step."""
        self.first = step if self.first is None else self.first
        self.rows.append(row)
        if len(self.rows) >= self.window or row["loss"] is None:
            self.flush()

    def flush(self):
        """Tell what is kept."""
        if not self.rows:
            return
        times = [row["step_ms"] for row in self.rows]
        mean = sum(times) / len(times)
        window = {"step": self.first, "steps": len(times), "step_ms": mean, "longest_ms": max(times), "shortest_ms": min(times)}
        window["deviation_ms"] = math.sqrt(sum((one - mean) ** 2 for one in times) / len(times))
        for key in ("data_ms", "compute_ms", "other_ms"):
            values = [row[key] for row in self.rows]
            window[key] = None if None in values else sum(values) / len(values)
        self.rank.report("steps", **window, loss=self.rows[-1]["loss"])
        self.rows, self.first = [], None


if __name__ == "__main__":
    raise SystemExit(ranks.run(__file__, options(), work))
