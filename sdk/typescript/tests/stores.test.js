// The same on PostgreSQL; and runs that are thrown out of memory and come back.
"use strict";
const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const { once } = require("node:events");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { Engine } = require("../dist/cjs/index.js");
const { withEngine } = require("./support/environment.js");

const counted = new Map();
const one = () => 1;
async function work(ctx, factor) {
  let sum = 0;
  for (let i = 0; i < 5; ++i) {
    sum += await ctx.run(`step ${i}`, ({ runId }) => {
      counted.set(`${runId} ${i}`, (counted.get(`${runId} ${i}`) ?? 0) + 1);
      return i * factor;
    });
  }
  const bonus = await ctx.signal("bonus");
  await ctx.sleep(1);
  return sum + bonus + (await ctx.schedule(one, undefined));
}
const definitions = { workflows: { work }, activities: { one } };

async function runMany(engine, prefix, count) {
  const runs = await Promise.all(
    Array.from({ length: count }, (_, i) => engine.start(work, { id: `${prefix}-${i}`, input: i })),
  );
  // All of them wait.
  const waiting = async () => (await engine.list({ kinds: ["work"], statuses: ["waiting"], limit: 1000 })).runs.length;
  while ((await waiting()) < count) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(runs.map((run) => run.signal("bonus", 100)));
  const results = await Promise.all(runs.map((run) => run.result()));
  assert.deepEqual(results, runs.map((_, i) => 10 * i + 101));
  assert.equal(Math.max(...runs.flatMap(({ id }) => [0, 1, 2, 3, 4].map((i) => counted.get(`${id} ${i}`)))), 1);
}

test("runs that have no room in memory come back by replay", { timeout: 60_000 }, () =>
  withEngine({ ...definitions, cacheBytes: 1 }, async (engine) => {
    await runMany(engine, "small", 200);
    assert.equal(engine.runs.size, 0, "nothing is left of runs that have ended");
  }));

test("the same in memory", { timeout: 60_000 }, () =>
  withEngine(definitions, async (engine) => {
    await runMany(engine, "large", 200);
    assert.equal(engine.runs.size, 0, "nothing is left of runs that have ended");
  }));

const installed = fs.existsSync("/usr/lib/postgresql") || process.env.PAWL_POSTGRES_BIN !== undefined;
test("the same on PostgreSQL", { timeout: 60_000, skip: installed ? false : "no PostgreSQL server is installed" }, async () => {
  const script = path.join(__dirname, "..", "..", "..", "tests", "postgres", "serve.py");
  const server = spawn("python3", [script], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const [url] = await once(server.stdout, "data");
    const engine = await Engine.open(String(url).trim(), definitions);
    try {
      await runMany(engine, "postgres", 50);
    } finally {
      await engine.close();
    }
  } finally {
    server.stdin.end();
    await once(server, "close");
  }
});
