"""Counts down, and goes on where it was when it is killed and started again."""
import sys

import pawl


def say(number: int) -> None:
    print(number, flush=True)


@pawl.workflow
async def countdown(ctx: pawl.Context, start: int) -> str:
    for number in range(start, 0, -1):
        await ctx.run("say", say, number)
        await ctx.sleep(1)
    return "lift-off"


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "sqlite:hello.db"
    with pawl.Engine(url, workflows=[countdown]) as engine:
        print(engine.start(countdown, "launch", 5).wait().result().wait())
