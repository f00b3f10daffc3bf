"""The workflow of the test of all languages together, in Python; relay.mjs and Relay.kt have the same.

  relay.py work URL          says "ready", and works until its standard input ends
  relay.py replay FILE START prints what comes of a history: "completed RESULT", or what else
"""
import sys

import pawl


def begin(number: int) -> int:
    return number + 1


@pawl.activity(name="add.py")
def add(number: int) -> int:
    return number + 10


@pawl.workflow
async def relay(ctx: pawl.Context, start: int) -> int:
    number = await ctx.run("begin", begin, start)
    for language in ("py", "ts", "kt"):
        number = await ctx.schedule(f"add.{language}", number, queue=language, returns=int)
    ctx.set("number", number)
    await ctx.sleep(0.05)
    return number + await ctx.signal("go", returns=int)


def main(command: str, *arguments: str) -> None:
    if command == "work":
        with pawl.Engine(arguments[0], workflows=[relay], activities=[add], queues=["py"], worker_name="py"):
            print("ready", flush=True)
            sys.stdin.read()
    else:
        from pawl.testing import Replayer
        with open(arguments[0], encoding="utf-8") as file:
            replayed = Replayer(relay).replay(file.read(), int(arguments[1]))
        print(replayed.outcome, replayed.result)


if __name__ == "__main__":
    main(*sys.argv[1:])
