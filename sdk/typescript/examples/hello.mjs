// A countdown that does not care whether its process lives: stop it with Ctrl-C, start it again.
//   node hello.mjs [STORE]      STORE is sqlite:hello.db if not given
import { Engine } from "pawl";

async function countdown(ctx, from) {
  for (let number = from; number > 0; --number) {
    await ctx.run("say", () => console.log(number));
    await ctx.sleep("1s");
  }
  return "lift-off";
}

const engine = await Engine.open(process.argv[2] ?? "sqlite:hello.db", { workflows: { countdown } });
const run = await engine.start(countdown, { id: "first", input: 5 });
console.log(await run.result());
await engine.close();
