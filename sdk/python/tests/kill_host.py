"""For test_kill.py: works on runs until it is killed. Every execution of a step is a line in a file,
which is written at once."""
import os
import sys

import pawl

URL, LOG, RUNS = sys.argv[1], sys.argv[2], int(sys.argv[3])
STEPS = 150

log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def note(*words: object) -> None:
    os.write(log, (" ".join(map(str, words)) + "\n").encode())


def step(run: str, number: int) -> int:
    note("step", run, number)
    return number * number


@pawl.activity
def task(run: str, number: int) -> int:
    note("task", run, number)
    return number


@pawl.workflow
async def flow(ctx: pawl.Context) -> int:
    total = 0
    for number in range(STEPS):
        total += await ctx.run("step", step, ctx.info.id, number)
        if number == 5:
            total += await ctx.schedule(task, ctx.info.id, number)
        if number == 10:
            await ctx.sleep(0.05)
        if number == 15:
            async def arm(inner: pawl.Context) -> int:
                return await inner.run("arm", step, inner.info.id, 1000)

            total += sum(await ctx.join(arm, arm))
    return total


with pawl.Engine(URL, workflows=[flow], activities=[task]) as engine:
    runs = [engine.start(flow, f"r-{i}").wait() for i in range(RUNS)]
    print("started", flush=True)
    for run in runs:
        print("ended", run.id, run.result().wait(), flush=True)
print("closed", flush=True)
