#!/usr/bin/env node
// W1: runs of 10 steps at concurrency 128. W2: one run with many steps. On SQLite, with the default
// durability. bench.js [w1 [RUNS [CONCURRENCY]] | w2 [STEPS…]]
"use strict";
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { Engine } = require("../dist/cjs/index.js");

const STEPS = 10;

async function steps(ctx, count) {
  let sum = 0;
  for (let i = 0; i < count; ++i) {
    sum += await ctx.run("add", () => i);
  }
  return sum;
}

async function inStore(body) {
  const folder = fs.mkdtempSync(path.join(process.env.TMPDIR ?? os.tmpdir(), "pawl-bench-"));
  const engine = await Engine.open(`sqlite:${path.join(folder, "bench.db")}`, { workflows: { steps } });
  try {
    return await body(engine);
  } finally {
    await engine.close();
    fs.rmSync(folder, { recursive: true });
  }
}

async function w1(runs, concurrency) {
  await inStore(async (engine) => {
    let next = 0;
    const go = async () => {
      while (next < runs) {
        const run = await engine.start(steps, { id: `run-${++next}`, input: STEPS });
        const sum = await run.result();
        if (sum !== (STEPS * (STEPS - 1)) / 2) {
          throw new Error(`run ${run.id} ended with ${sum}`);
        }
      }
    };
    const since = performance.now();
    const cpu = process.cpuUsage();
    await Promise.all(Array.from({ length: concurrency }, go));
    const seconds = (performance.now() - since) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    const load = os.loadavg()[0].toFixed(1);
    console.log(
      `w1: ${Math.round((runs * STEPS) / seconds)} steps/s (${runs} runs of ${STEPS} steps, ${concurrency} at once, ` +
        `${seconds.toFixed(2)} s, ${((user + system) / 1e6 / seconds).toFixed(2)} cores, load ${load})`,
    );
  });
}

async function w2(counts) {
  for (const count of counts) {
    await inStore(async (engine) => {
      const since = performance.now();
      const cpu = process.cpuUsage();
      const run = await engine.start(steps, { input: count });
      await run.result();
      const micros = ((performance.now() - since) * 1000) / count;
      const { user, system } = process.cpuUsage(cpu);
      console.log(
        `w2: ${count} steps: ${micros.toFixed(1)} µs per step, ${((user + system) / count).toFixed(1)} µs of processor`,
      );
    });
  }
}

async function main([what, ...numbers]) {
  const given = numbers.map(Number);
  if (what === undefined || what === "w1") {
    await w1(given[0] ?? 3000, given[1] ?? 128);
  }
  if (what === undefined || what === "w2") {
    await w2(given.length > 0 ? given : [1000, 10_000]);
  }
}

void main(process.argv.slice(2));
