// Clients' calls are refused in workflow code, and only there.
"use strict";
const assert = require("node:assert/strict");
const { describe, test } = require("node:test");
const { Engine, UsageError } = require("../dist/cjs/index.js");
const { replay, TestEnvironment } = require("../dist/cjs/testing.js");
const { withEngine, withEnvironment } = require("./support/environment.js");

const limit = { timeout: 20_000 };

const ofEngine = {
  start: (engine) => engine.start("waits", { id: "new" }),
  signalWithStart: (engine) => engine.signalWithStart("waits", { id: "new", signal: "go" }),
  list: (engine) => engine.list(),
  resolve: (engine) => engine.resolve("token", 1),
  reject: (engine) => engine.reject("token", new Error("no")),
  close: (engine) => engine.close(),
  advance: (engine) => engine.advance(1),
};
const ofRun = {
  result: (run) => run.result(),
  signal: (run) => run.signal("go"),
  resolve: (run) => run.resolve("p", 1),
  reject: (run) => run.reject("p", new Error("no")),
  cancel: (run) => run.cancel(),
  terminate: (run) => run.terminate(),
  pause: (run) => run.pause(),
  unpause: (run) => run.unpause(),
  resume: (run) => run.resume(),
  describe: (run) => run.describe(),
  exists: (run) => run.exists(),
  history: (run) => run.history(),
};
const waits = (ctx) => ctx.signal("go");

describe("in workflow code", () => {
  test("every call is refused where it is made, awaited or not", limit, async () => {
    let env;
    const calls = [
      ["open", () => Engine.open("sqlite:never.db")],
      ["open", () => TestEnvironment.open()],
      ...Object.entries(ofEngine).map(([name, call]) => [name, () => call(env)]),
      ...Object.entries(ofRun).map(([name, call]) => [name, () => call(env.get("other"))]),
    ];
    const code = async (ctx) => {
      const said = [];
      for (const isLater of [false, true]) {
        for (const [, call] of calls) {
          try {
            void call();
            said.push("nothing");
          } catch (error) {
            said.push(error instanceof UsageError ? error.message : String(error));
          }
        }
        if (!isLater) {
          await ctx.run("step", () => 1);
        }
      }
      return said;
    };
    await withEnvironment({ workflows: { code, waits } }, async (opened) => {
      env = opened;
      const other = await env.start(waits, { id: "other" });
      const expected = calls.map(
        ([name]) => `${name}: clients' calls are not for workflow code; use ctx.child(), ctx.sendSignal(), or an activity`,
      );
      assert.deepEqual(await (await env.start(code)).result(), [...expected, ...expected]);
      assert.equal((await other.history()).length, 1);
      assert.deepEqual((await env.list()).runs.map(({ kind }) => kind).sort(), ["code", "waits"]);
    });
  });

  test("no call of a run is forgotten here", limit, () =>
    withEnvironment({}, async (env) => {
      const calls = Object.getOwnPropertyNames(Object.getPrototypeOf(env.get("x")));
      assert.deepEqual(calls.filter((name) => name !== "constructor").sort(), Object.keys(ofRun).sort());
    }));

  test("one that nobody awaits fails the run, and sends nothing at any replay", limit, async () => {
    let env;
    const code = async (ctx) => {
      void env.get("other").signal("go");
      await ctx.sleep("1d");
    };
    await withEnvironment({ workflows: { code, waits }, replayEveryTurn: true }, async (opened) => {
      env = opened;
      const other = await env.start(waits, { id: "other" });
      await assert.rejects((await env.start(code)).result(), { type: "UsageError", message: /^signal: clients' calls/ });
      assert.equal((await other.describe()).status, "waiting");
    });
  });
});

describe("in operations and activities", () => {
  // Before and after awaiting something, in the turn of the event loop or in a later one.
  const chatter = async (engine, id) => {
    const run = await engine.start("waits", { id });
    for (let i = 0; i < 10; ++i) {
      await null;
      assert.equal(await engine.get(id).exists(), true);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await run.signal("go", id);
    return run.result();
  };

  test("they work, also while code of workflows runs", limit, async () => {
    let engine;
    const busy = (ctx, n) => ctx.join(Array.from({ length: 5 }, (_, i) => async (inner) => {
      for (let step = 0; step < 10; ++step) {
        await null;
        await inner.run(`step ${step}`, () => n + i);
      }
    }));
    const code = (ctx) => ctx.all([
      ctx.run("async", async () => chatter(engine, "a")),
      ctx.run("not async", () => chatter(engine, "b")),
      ctx.schedule("task", "c"),
    ]);
    const activities = { task: (id) => chatter(engine, id) };
    await withEngine({ workflows: { busy, code, waits }, activities }, async (opened) => {
      engine = opened;
      const others = await Promise.all(Array.from({ length: 10 }, (_, input) => engine.start(busy, { input })));
      assert.deepEqual(await (await engine.start(code)).result(), ["a", "b", "c"]);
      await Promise.all(others.map((run) => run.result()));
    });
  });

  test("they work in those that a replay executes", limit, () =>
    withEngine({ workflows: { waits } }, async (engine) => {
      const { result, error } = await replay(async (ctx) => [
        await ctx.run("async", async () => chatter(engine, "a")),
        await ctx.run("not async", () => engine.get("a").result()),
      ]);
      assert.deepEqual(result, ["a", "a"], String(error));
    }));
});
