#!/usr/bin/env python3
"""Measures the SDK on a SQLite file with the default durability.

  bench.py [--seconds N] [--profile]

W1: runs of 10 steps, 128 at once: steps per second. W2: one run with many steps: what a step costs
after 1,000 and after 10,000 of them.
"""
import argparse
import cProfile
import os
import pstats
import sys
import tempfile
import time
from typing import Any

import pawl

STEPS = 10
CONCURRENCY = 128


def step(number: int) -> int:
    return number + 1


@pawl.workflow
async def short_run(ctx: pawl.Context) -> int:
    number = 0
    for _ in range(STEPS):
        number = await ctx.run("step", step, number)
    return number


@pawl.workflow
async def long_run(ctx: pawl.Context, steps: int) -> int:
    number = 0
    for _ in range(steps):
        number = await ctx.run("step", step, number)
    return number


def measure_w1(engine: pawl.Engine, seconds: float) -> float:
    """One thread keeps CONCURRENCY runs going."""
    finished = 0
    started = 0
    calls: list[pawl.Call[Any]] = []

    def begin() -> None:
        nonlocal started
        handle = engine.start(short_run, f"w1-{started}")
        started += 1
        calls.append(handle)

    begun = time.perf_counter()
    for _ in range(CONCURRENCY):
        begin()
    pending = [call.wait().result() for call in calls]
    while time.perf_counter() - begun < seconds:
        rest = []
        again = 0
        pending[0].wait()
        for call in pending:
            if call.done():
                if call.wait() != STEPS:
                    raise SystemExit("a run has another result than it should have")
                finished += 1
                again += 1
            else:
                rest.append(call)
        calls.clear()
        for _ in range(again):
            begin()
        pending = rest + [call.wait().result() for call in calls]
    for call in pending:
        call.wait()
        finished += 1
    return finished * STEPS / (time.perf_counter() - begun)


def measure_w2(engine: pawl.Engine, steps: int) -> float:
    begun = time.perf_counter()
    if engine.start(long_run, f"w2-{steps}", steps).wait().result().wait() != steps:
        raise SystemExit("a run has another result than it should have")
    return (time.perf_counter() - begun) / steps


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--only", choices=["w1", "w2"])
    parser.add_argument("--profile", action="store_true", help="of the thread that polls")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.profile:
            profile_workers()
        with pawl.Engine(
            f"sqlite:{os.path.join(folder, 'bench.db')}", workflows=[short_run, long_run]
        ) as engine:
            print(f"load {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores")
            if options.only != "w2":
                measure_w1(engine, 0.5)
                before = time.process_time()
                rate = measure_w1(engine, options.seconds)
                used = (time.process_time() - before) / options.seconds
                print(f"W1: {rate:,.0f} steps/s at {CONCURRENCY} runs at once ({used:.2f} cores)")
            if options.only != "w1":
                for steps in (1_000, 10_000):
                    print(f"W2: {measure_w2(engine, steps) * 1e6:,.0f} us/step with {steps:,} steps")


def profile_workers() -> None:
    from pawl._worker import Worker

    work = Worker._work

    def profiled(worker: Any) -> None:
        profiler = cProfile.Profile()
        profiler.runcall(work, worker)
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(30)

    Worker._work = profiled  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
