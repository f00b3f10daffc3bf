// Workflows on an engine for tests: what each call of the context does.
"use strict";
const assert = require("node:assert/strict");
const { describe, test } = require("node:test");
const pawl = require("../dist/cjs/index.js");
const { withEnvironment } = require("./support/environment.js");

const {
  ActivityError,
  ActivityFailed,
  breakWith,
  Cancelled,
  ChildFailed,
  continueWith,
  PromiseRejected,
  TaskCancelled,
  TimedOut,
  TimerCancelled,
  UsageError,
  WorkflowCancelled,
  WorkflowFailed,
} = pawl;

/** Runs one workflow to its end, twice: once in memory, and once with a replay before every turn. */
function bothWays(name, workflow, check, { input, ...options } = {}) {
  for (const replayEveryTurn of [false, true]) {
    test(replayEveryTurn ? `${name}, replayed at every turn` : name, { timeout: 20_000 }, () =>
      withEnvironment({ ...options, workflows: { workflow, ...options.workflows }, replayEveryTurn }, async (env) => {
        const run = await env.start(workflow, { id: "it", input });
        await check(run, env);
      }),
    );
  }
}

describe("operations", () => {
  bothWays(
    "give what the function returns, null for nothing, with its arguments",
    async (ctx) => [
      await ctx.run("add", (a, b) => a + b, { args: [2, 3] }),
      await ctx.run("later", async () => "x"),
      await ctx.run("nothing", () => {}),
      await ctx.run("attempt", (activity) => [activity.name, activity.attempt, activity.runId]),
    ],
    async (run) => {
      assert.deepEqual(await run.result(), [5, "x", null, ["attempt", 1, "it"]]);
      const [first] = await run.history();
      assert.match(first.inputDigest, /^[0-9a-f]{16}$/);
      assert.match(first.source, /tests\/workflow\.test\.js:\d+/);
    },
  );

  bothWays(
    "run once each, however often the workflow is replayed",
    async (ctx, counts) => {
      for (let i = 0; i < 5; ++i) {
        await ctx.run(`step ${i}`, () => {
          counted[i] = (counted[i] ?? 0) + 1;
        });
        await ctx.sleep("1h");
      }
      return counts;
    },
    async (run) => {
      counted = [];
      await run.result();
      assert.deepEqual(counted, [1, 1, 1, 1, 1]);
    },
  );
  let counted = [];

  bothWays(
    "are tried again, and fail for good with type, text and details",
    async (ctx) => {
      const retry = { attempts: 3, initial: "1m", jitter: 0 };
      const third = await ctx.run("third", ({ attempt }) => {
        if (attempt < 3) {
          throw new Error(`not at ${attempt}`);
        }
        return attempt;
      }, { retry });
      const before = ctx.now();
      const errors = [];
      class OutOfStock extends Error {}
      for (const error of [
        new ActivityError("Declined", "no money", { final: true, details: { code: 51 } }),
        new OutOfStock("no shoes"),
      ]) {
        try {
          await ctx.run("fails", () => {
            throw error;
          }, { retry: { attempts: 2, finalTypes: ["OutOfStock"] } });
        } catch (failure) {
          assert.ok(failure instanceof ActivityFailed);
          const { type, message, details, subject } = failure;
          errors.push([type, message, details.at === undefined ? details : "a place", subject]);
        }
      }
      return { third, errors, waited: ctx.now() - before };
    },
    async (run) => {
      const { third, errors, waited } = await run.result();
      assert.equal(third, 3);
      assert.deepEqual(errors, [
        ["Declined", "no money", { code: 51 }, "operation 'fails'"],
        ["OutOfStock", "no shoes", "a place", "operation 'fails'"],
      ]);
      assert.equal(waited, 0);
    },
  );

  bothWays(
    "that return what is no JSON fail for good",
    async (ctx) => {
      await ctx.run("big", () => 1n, { retry: { attempts: 5 } });
    },
    async (run) => {
      await assert.rejects(run.result(), (error) => {
        assert.ok(error instanceof WorkflowFailed);
        assert.equal(error.type, "PayloadError");
        assert.match(error.message, /result of 'big' cannot be written as JSON/);
        return true;
      });
    },
  );
});

describe("tasks", () => {
  const activities = {
    double: async (number) => number * 2,
    beats: async (_input, activity) => {
      if (activity.attempt === 1) {
        activity.heartbeat({ done: 7 });
        throw new ActivityError("Again", "once more", { nextDelay: 5000 });
      }
      return [activity.lastDetails, activity.key.length];
    },
    forever: (_input, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  };

  bothWays(
    "go through a queue, by function or by name",
    async (ctx) => [
      await ctx.schedule(activities.double, 21),
      await ctx.schedule("double", 4, { queue: "default", priority: 2, timeout: "10s" }),
    ],
    async (run) => assert.deepEqual(await run.result(), [42, 8]),
    { activities },
  );

  bothWays(
    "know of the heartbeat of an earlier attempt, and when to come back",
    async (ctx) => {
      const before = ctx.now();
      const [details, length] = await ctx.schedule("beats", undefined, { retry: { attempts: 2 } });
      return { details, length, waited: ctx.now() - before };
    },
    async (run) => assert.deepEqual(await run.result(), { details: { done: 7 }, length: 36, waited: 5000 }),
    { activities },
  );

  bothWays(
    "can be cancelled by the workflow",
    async (ctx) => {
      const task = ctx.schedule("forever");
      const timer = ctx.sleep("1h");
      ctx.cancel(task);
      ctx.cancel(timer);
      const errors = [];
      for (const future of [task, timer]) {
        await future.catch((error) => errors.push(error.constructor.name));
      }
      return errors;
    },
    async (run) => assert.deepEqual(await run.result(), [TaskCancelled.name, TimerCancelled.name]),
    { activities },
  );
});

describe("time", () => {
  bothWays(
    "passes by timers, and costs nothing",
    async (ctx) => {
      const start = ctx.now();
      await ctx.sleep("24h");
      await ctx.sleepUntil(ctx.now() + 500);
      await ctx.sleepUntil(new Date(0));
      return ctx.now() - start;
    },
    async (run) => assert.equal(await run.result(), 24 * 3600 * 1000 + 500),
  );

  bothWays(
    "is up for what takes longer, and not for what does not",
    async (ctx) => {
      const quick = await ctx.withTimeout(ctx.run("quick", () => 1), "1h");
      try {
        await ctx.withTimeout(ctx.signal("never"), "1h");
      } catch (error) {
        return [quick, error.constructor.name, error.message];
      }
    },
    async (run) =>
      assert.deepEqual(await run.result(), [1, TimedOut.name, "signal 'never' took longer than 3600000 ms"]),
  );
});

describe("from outside", () => {
  test("signals queue up, come with their events, and can be looked at", { timeout: 20_000 }, async () => {
    const workflow = async (ctx) => {
      const first = await ctx.signal("s").withEvent();
      await ctx.signal("go");
      const seen = [ctx.hasSignal("s"), ctx.trySignal("s")?.value, ctx.trySignal("s")?.value, ctx.trySignal("s")];
      const timeout = await ctx.signal("none", { timeout: "1m" }).catch((error) => error.message);
      return { first, seen: seen.map((each) => each ?? null), timeout };
    };
    await withEnvironment({ workflows: { workflow } }, async (env) => {
      const run = await env.start(workflow, { id: "it" });
      const event = { id: "e-1", source: "/shop", subject: "order", time: "2026-11-16T20:26:59Z", tracestate: "x" };
      assert.equal(await run.signal("s", { a: 1 }, { event }), true);
      assert.equal(await run.signal("s", { a: 1 }, { event }), false);
      await run.signal("s", 2);
      await run.signal("s", 3);
      await run.signal("go");
      assert.deepEqual(await run.result(), {
        first: { value: { a: 1 }, event: { ...event, type: "s" } },
        seen: [true, 2, 3, null],
        timeout: "signal 'none' timed out",
      });
    });
  });

  test("promises are resolved and rejected by name and by token", { timeout: 20_000 }, async () => {
    const tokens = [];
    const workflow = async (ctx) => {
      const promises = ["a", "b", "c"].map((name) => ctx.promise(name));
      await ctx.run("tell", (list) => tokens.push(...list), { args: [promises.map((each) => each.token)] });
      const seen = [];
      for (const promise of [...promises, ctx.promise("d", { timeout: "1h" })]) {
        try {
          seen.push(await promise);
        } catch (error) {
          seen.push([error.constructor.name, error.message, error.type ?? null]);
        }
      }
      return seen;
    };
    await withEnvironment({ workflows: { workflow } }, async (env) => {
      const run = await env.start(workflow, { id: "it" });
      const result = run.result();
      while (tokens.length === 0) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      await run.resolve("a", 1);
      await assert.rejects(run.resolve("a", 2), pawl.AlreadyExists);
      await env.resolve(tokens[1], "two");
      await env.reject(tokens[2], new RangeError("no"));
      assert.deepEqual(await result, [
        1,
        "two",
        [PromiseRejected.name, "no", "RangeError"],
        [TimedOut.name, "promise 'd' timed out", null],
      ]);
    });
  });
});

describe("other runs", () => {
  const child = async (_ctx, number) => {
    if (number < 0) {
      throw new RangeError("negative");
    }
    return number + 1;
  };
  bothWays(
    "are children, and get signals",
    async (ctx) => {
      const one = await ctx.child(child, "one", 1, { tags: { a: "b" } });
      const failed = await ctx.child("child", "two", -1).catch((error) => [error.constructor.name, error.type]);
      const listener = ctx.child("listener", "three", undefined, { parentClose: "abandon" });
      await ctx.sendSignal("three", "hello", { from: ctx.info.id });
      return [one, failed, await listener];
    },
    async (run, env) => {
      assert.deepEqual(await run.result(), [2, [ChildFailed.name, "RangeError"], { from: "it" }]);
      assert.deepEqual((await env.get("one").describe()).tags, { a: "b" });
    },
    { workflows: { child, listener: (ctx) => ctx.signal("hello") } },
  );
});

describe("state", () => {
  bothWays(
    "is set, got and cleared",
    async (ctx) => {
      const seen = [ctx.get("k") ?? null];
      ctx.set("k", { a: [1] });
      seen.push(ctx.get("k"));
      ctx.clear("k");
      seen.push(ctx.get("k") ?? null);
      ctx.set("visible", 7);
      await ctx.sleep(1);
      return seen;
    },
    async (run) => assert.deepEqual(await run.result(), [null, { a: [1] }, null]),
  );
});

describe("several at once", () => {
  bothWays(
    "all, any, first, and what JavaScript itself has",
    async (ctx) => {
      const slow = ctx.sleep("2h");
      const quick = ctx.run("quick", () => "q");
      const winner = await ctx.any([slow, quick]);
      const all = await ctx.all([ctx.run("a", () => 1), ctx.run("b", async () => "2")]);
      const native = await Promise.all([ctx.run("c", () => 3), ctx.sleep("1h"), ctx.run("d", () => 4)]);
      const race = await Promise.race([ctx.sleep("3h").then(() => "timer"), ctx.run("e", () => "run")]);
      const failed = await ctx
        .all([ctx.sleep("9h"), ctx.run("f", () => { throw new TypeError("bad"); })])
        .catch((error) => error.type);
      return [winner, all, native, race, failed, quick.isComplete];
    },
    async (run) =>
      assert.deepEqual(await run.result(), [
        { index: 1, value: "q" }, [1, "2"], [3, null, 4], "run", "TypeError", true,
      ]),
  );

  bothWays(
    "arms of a join run concurrently, and the first error in order is thrown after all have ended",
    async (ctx) => {
      const order = [];
      const results = await ctx.join([
        async (inner) => {
          await inner.sleep("2h");
          order.push("a");
          return 1;
        },
        async (inner) => {
          await inner.sleep("1h");
          order.push("b");
          return inner.branch(async (deep) => deep.run("deep", () => "two"));
        },
      ]);
      const error = await ctx
        .join([
          async (inner) => { await inner.sleep("2h"); throw new Error("first"); },
          async () => { throw new Error("second"); },
        ])
        .catch((each) => each.message);
      return [order, results, error];
    },
    async (run) => {
      assert.deepEqual(await run.result(), [["b", "a"], [1, "two"], "first"]);
      const locations = (await run.history()).map((entry) => entry.location).filter(Boolean);
      assert.ok(locations.includes("{2, 1, 1}") || locations.includes("{2, 2, 1}"), locations.join(" "));
    },
  );

  bothWays(
    "code that is nested deep is blocked for real before anything is delivered",
    async (ctx) => {
      const deep = async (levels) => (levels === 0 ? ctx.run("deep", () => "x") : await deep(levels - 1));
      const values = [];
      for (let i = 0; i < 3; ++i) {
        await Promise.resolve();
        values.push(await deep(200));
      }
      return values.join("");
    },
    async (run) => assert.equal(await run.result(), "xxx"),
  );
});

describe("what nobody awaits yet", () => {
  bothWays(
    "may fail without harm to the process, and throws when it is awaited",
    async (ctx) => {
      const fails = async () => { throw new Error("early"); };
      const parts = [ctx.branch(fails), ctx.join([fails]), ctx.loop(0, fails), ctx.all([ctx.run("f", fails)])];
      await ctx.sleep("1h");
      return (await Promise.allSettled(parts)).map(({ reason }) => reason.message);
    },
    async (run) => assert.deepEqual(await run.result(), ["early", "early", "early", "early"]),
  );

  bothWays(
    "and bad options change nothing",
    async (ctx) => {
      const errors = [];
      for (const call of [
        () => ctx.run("", () => 1),
        () => ctx.run("a", () => 1, { retry: { attempts: 1.5 } }),
        () => ctx.run("a", () => 1, { timeout: "soon" }),
        () => ctx.sleep(-1),
        () => ctx.schedule(() => {}),
        () => ctx.child("", "x"),
        () => ctx.signal(""),
        () => ctx.any([]),
        () => ctx.all([5]),
        () => ctx.v(0),
        () => ctx.set("k", () => {}),
        () => ctx.removed("nothing"),
      ]) {
        try {
          call();
          errors.push(String(call));
        } catch (error) {
          assert.ok(error instanceof pawl.PawlError, String(error));
        }
      }
      return errors;
    },
    async (run) => {
      assert.deepEqual(await run.result(), []);
      assert.deepEqual((await run.history()).map(({ event }) => event), ["WorkflowCompleted"]);
    },
  );
});

describe("loops", () => {
  bothWays(
    "go on until broken, and forget what is behind them",
    (ctx) =>
      ctx.loop(
        { i: 0, sum: 0 },
        async (inner, { i, sum }) => {
          sum += await inner.run("add", () => i);
          await inner.sleep("1m");
          return i === 44 ? breakWith(sum) : continueWith({ i: i + 1, sum });
        },
        { checkpointEvery: 10 },
      ),
    async (run) => {
      assert.equal(await run.result(), (44 * 45) / 2);
      assert.ok((await run.history()).length < 10);
    },
  );

  bothWays(
    "go on while something holds, and are their state then",
    async (ctx) => [
      await ctx.loop(0, async (_inner, n) => continueWith(n + 1), { while: (n) => n < 7 }),
      await ctx.loop(5, async (_inner, n) => continueWith(n + 1), { while: () => false }),
      await ctx.loop(0, async () => { throw new Error("left"); }).catch((error) => error.message),
      await ctx.loop(0, async () => 5).catch((error) => error.constructor.name),
    ],
    async (run) => assert.deepEqual(await run.result(), [7, 5, "left", UsageError.name]),
  );
});

describe("the end", () => {
  bothWays(
    "recurs with the next input",
    async (ctx, n) => {
      try {
        await ctx.run("count", () => n);
        if (n < 3) {
          ctx.recur(n + 1);
        }
      } catch {
        await ctx.sleep(1); // Whoever catches it finds that the run is over.
      }
      return [n, ctx.info.number, ctx.info.kind, ctx.info.id];
    },
    async (run) => assert.deepEqual(await run.result(), [3, 3, "workflow", "it"]),
    { input: 1 },
  );

  bothWays(
    "fails with what was thrown",
    async () => {
      throw new RangeError("too far");
    },
    async (run) => {
      await assert.rejects(run.result(), (error) => {
        assert.ok(error instanceof WorkflowFailed);
        assert.deepEqual([error.type, error.message, error.subject], ["RangeError", "too far", "run 'it'"]);
        return true;
      });
    },
  );

  bothWays(
    "fails with the failure of a step that nobody caught",
    async (ctx) => {
      await ctx.run("pay", () => { throw new ActivityError("Declined", "no money", { details: [1] }); });
    },
    async (run) => {
      await assert.rejects(run.result(), (error) => {
        assert.deepEqual([error.type, error.message, error.details], ["Declined", "no money", [1]]);
        return true;
      });
    },
  );
});

describe("cancelling", () => {
  test("is thrown at what waits, once; a shield holds it off; what was done is compensated", { timeout: 20_000 }, async () => {
    const undone = [];
    const activities = { undo: (what) => void undone.push(what) };
    const workflow = async (ctx) => {
      ctx.compensate(activities.undo, "first");
      ctx.compensate("undo", "second");
      await ctx.shielded().signal("shielded");
      try {
        await ctx.signal("never");
      } catch (error) {
        await ctx.run("clean up", () => undone.push([error.reason, ctx === undefined]));
        ctx.set("cancelled", ctx.cancelled);
        throw error;
      }
    };
    await withEnvironment({ workflows: { workflow }, activities }, async (env) => {
      const run = await env.start(workflow, { id: "it" });
      await run.signal("shielded");
      const result = run.result();
      await run.cancel("too late");
      await assert.rejects(result, (error) => {
        assert.ok(error instanceof WorkflowCancelled);
        assert.equal(error.reason, "too late");
        return true;
      });
      assert.deepEqual(undone, [["too late", false], "second", "first"]);
      assert.equal((await run.describe()).status, "cancelled");
      assert.ok(new Cancelled("x").message.includes("x"));
    });
  });
});

describe("shields", () => {
  const kinds = {
    "of a context": (ctx) => ctx.shielded().signal("go"),
    "of a future": (ctx) => ctx.signal("go").shielded(),
    "with its event": (ctx) => ctx.signal("go").shielded().withEvent().then(({ value }) => value),
    "of all": (ctx) => ctx.all([ctx.signal("go").shielded()]).then(([value]) => value),
    "of a branch": (ctx) => ctx.shielded().branch((inner) => inner.signal("go")),
    "of a time limit": (ctx) => ctx.withTimeout(ctx.signal("go").shielded(), "10d"),
  };
  for (const [name, wait] of Object.entries(kinds)) {
    test(`hold off a cancel request: ${name}`, { timeout: 20_000 }, async () => {
      const workflow = async (ctx) => [await wait(ctx), ctx.cancelled];
      await withEnvironment({ workflows: { workflow } }, async (env) => {
        const run = await env.start(workflow);
        await env.advance(1);
        await run.cancel();
        await env.advance(1);
        await run.signal("go", 7);
        assert.deepEqual(await run.result(), [7, true]);
      });
    });
  }

  test("nothing else does", { timeout: 20_000 }, async () => {
    const workflow = async (ctx) => ctx.all([ctx.signal("go"), ctx.signal("more").shielded()]);
    await withEnvironment({ workflows: { workflow } }, async (env) => {
      const run = await env.start(workflow);
      await env.advance(1);
      await run.cancel();
      await assert.rejects(run.result(), WorkflowCancelled);
    });
  });
});

describe("what replaces randomness", () => {
  bothWays(
    "is the same on replay",
    async (ctx) => {
      const before = [ctx.uuid(), ctx.random()];
      await ctx.sleep(1);
      ctx.set("seen", before);
      await ctx.sleep(1);
      return [before, ctx.get("seen")];
    },
    async (run) => {
      const [before, seen] = await run.result();
      assert.deepEqual(before, seen);
      assert.match(before[0], /^[0-9a-f-]{36}$/);
      assert.ok(before[1] >= 0 && before[1] < 1);
    },
  );
});
