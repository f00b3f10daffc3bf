// Activities on a real engine: their signals, and what becomes of them when it is closed.
"use strict";
const assert = require("node:assert/strict");
const { once } = require("node:events");
const { test } = require("node:test");
const { activity, ActivityFailed, Closed } = require("../dist/cjs/index.js");
const { withEngine, withEnvironment } = require("./support/environment.js");

const forever = async (_input, { signal }) => {
  await once(signal, "abort");
  signal.throwIfAborted();
};

test("an attempt is told by its signal that its time is over", { timeout: 20_000 }, async () => {
  const told = deferred();
  const activities = {
    forever: async (input, attempt) => {
      try {
        await forever(input, attempt);
      } finally {
        told.resolve(attempt.shouldStop);
      }
    },
  };
  const workflow = (ctx) =>
    ctx.schedule("forever", undefined, { timeout: 50 }).catch((error) => [error instanceof ActivityFailed, error.message]);
  await withEngine({ workflows: { workflow }, activities }, async (engine) => {
    const run = await engine.start(workflow);
    const [isFailure, message] = await run.result();
    assert.ok(isFailure);
    assert.match(message, /took longer than 50 ms/);
    assert.equal(await told.promise, true);
  });
});

test("an operation is told the same, and gets another attempt", { timeout: 20_000 }, async () => {
  const workflow = (ctx) =>
    ctx.run("slow", (attempt) => (attempt.attempt === 1 ? forever(undefined, attempt) : "quick"), {
      timeout: 50,
      retry: { attempts: 2, initial: 1 },
    });
  await withEngine({ workflows: { workflow } }, async (engine) => {
    assert.equal(await (await engine.start(workflow)).result(), "quick");
  });
});

test("closing tells attempts, and rejects those who wait", { timeout: 20_000 }, async () => {
  const begun = deferred();
  const ended = deferred();
  const workflow = (ctx) =>
    ctx.run("forever", async (attempt) => {
      begun.resolve();
      await forever(undefined, attempt).catch(() => ended.resolve("told"));
    });
  await withEngine({ workflows: { workflow } }, async (engine) => {
    const run = await engine.start(workflow);
    const result = run.result();
    await begun.promise;
    const rejected = assert.rejects(result, Closed);
    await engine.close();
    await engine.close();
    assert.equal(await ended.promise, "told");
    await rejected;
    await assert.rejects(run.describe(), Closed);
  });
});

test("an attempt whose run is cancelled is told", { timeout: 20_000 }, async () => {
  const begun = deferred();
  const workflow = async (ctx) => {
    const task = ctx.schedule("forever");
    try {
      await task;
    } catch (error) {
      ctx.cancel(task);
      throw error;
    }
  };
  const activities = {
    forever: (input, attempt) => {
      begun.resolve(attempt);
      return forever(input, attempt);
    },
  };
  await withEngine({ workflows: { workflow }, activities }, async (engine) => {
    const run = await engine.start(workflow);
    const attempt = await begun.promise;
    await run.cancel("enough");
    await assert.rejects(run.result(), /was cancelled: enough/);
    await once(attempt.signal, "abort");
  });
});

test("a compensation has a retry policy of its own", { timeout: 20_000 }, async () => {
  const attempts = [];
  const activities = {
    undo: activity(
      (_input, { attempt }) => {
        attempts.push(attempt);
        throw new Error("cannot");
      },
      { compensationRetry: { attempts: 3 } },
    ),
  };
  const workflow = async (ctx) => {
    ctx.compensate(activities.undo, 1);
    throw new Error("failed");
  };
  await withEnvironment({ workflows: { workflow }, activities }, async (env) => {
    await assert.rejects((await env.start(workflow)).result(), /failed/);
    assert.deepEqual(attempts, [1, 2, 3]);
  });
});

test("fakes stand in for operations and activities", { timeout: 20_000 }, async () => {
  const workflow = async (ctx) => [
    await ctx.run("real", (a, b) => a + b, { args: [1, 2] }),
    await ctx.schedule("nowhere", { x: 5 }),
  ];
  const fakes = { real: (a, b) => a * 100 + b, nowhere: ({ x }) => x + 1 };
  await withEnvironment({ workflows: { workflow }, fakes }, async (env) => {
    assert.deepEqual(await (await env.start(workflow)).result(), [102, 6]);
  });
});

function deferred() {
  const it = {};
  it.promise = new Promise((resolve, reject) => Object.assign(it, { resolve, reject }));
  return it;
}
