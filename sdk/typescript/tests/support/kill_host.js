// A process that works on runs until they have all ended, or until it is killed. Each step says in a
// file that it is executed. kill_host.js STORE-URL FILE COUNT
"use strict";
const fs = require("node:fs");
const { Engine } = require("../../dist/cjs/index.js");

const [, , url, file, count] = process.argv;
const STEPS = 12;

async function work(ctx, factor) {
  let sum = 0;
  for (let i = 0; i < STEPS; ++i) {
    sum += await ctx.run(`step ${i}`, async ({ runId }) => {
      fs.appendFileSync(file, `${runId} step ${i}\n`);
      return i * factor;
    });
    if (i % 4 === 3) {
      await ctx.sleep(5);
      sum += await ctx.schedule("one", i);
    }
  }
  return sum;
}
const one = async () => 1;

async function main() {
  const engine = await Engine.open(url, { workflows: { work }, activities: { one } });
  const runs = await Promise.all(
    Array.from({ length: Number(count) }, (_, i) => engine.start(work, { id: `run-${i}`, input: i })),
  );
  console.log("started");
  const results = await Promise.all(runs.map((run) => run.result()));
  console.log(JSON.stringify(results));
  await engine.close();
}

void main();
