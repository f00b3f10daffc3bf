// The workflow of the test of all languages together, in TypeScript's SDK; see relay.py.
import { readFileSync } from "node:fs";

const sdk = process.env.PAWL_TYPESCRIPT;
const { Engine } = await import(`${sdk}/dist/esm/index.mjs`);

async function relay(ctx, start) {
  let number = await ctx.run("begin", (from) => from + 1, { args: [start] });
  for (const language of ["py", "ts", "kt"]) {
    number = await ctx.schedule(`add.${language}`, number, { queue: language });
  }
  ctx.set("number", number);
  await ctx.sleep(50);
  return number + (await ctx.signal("go"));
}

const [command, ...rest] = process.argv.slice(2);
if (command === "work") {
  const engine = await Engine.open(rest[0], {
    workflows: { relay },
    activities: { "add.ts": (number) => number + 100 },
    queues: { ts: 64 },
    workerName: "ts",
  });
  console.log("ready");
  for await (const _ of process.stdin) {
    // Until it ends.
  }
  await engine.close();
} else {
  const { replay } = await import(`${sdk}/dist/esm/testing.mjs`);
  const replayed = await replay(relay, { history: readFileSync(rest[0], "utf8"), input: Number(rest[1]) });
  console.log(replayed.outcome, replayed.result);
}
