"""A worker that works until it is told to end."""
import sys

import pawl


@pawl.workflow
async def add(ctx: pawl.Context, a: int, b: int) -> int:
    return await ctx.run("add", lambda: a + b)


pawl.Engine(sys.argv[1], workflows=[add]).run_forever()
print("closed", flush=True)
