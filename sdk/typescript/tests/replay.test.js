// The replayer: what code makes of a history.
"use strict";
const assert = require("node:assert/strict");
const { test } = require("node:test");
const { DeterminismViolation, UsageError, workflow } = require("../dist/cjs/index.js");
const { replay } = require("../dist/cjs/testing.js");
const { withEnvironment } = require("./support/environment.js");

const history = [
  { event: "TaskScheduled", taskType: "A", taskExecutionId: "t-1" },
  { event: "TaskCompleted", taskExecutionId: "t-1", result: 5 },
];

test("gives back what was recorded, and says what is new", async () => {
  const it = await replay(
    async (ctx, input) => {
      const value = await ctx.schedule("A");
      ctx.set("seen", value + input);
      await ctx.signal("more");
    },
    { history, input: 1 },
  );
  assert.equal(it.outcome, "suspended");
  assert.deepEqual(it.added.map(({ event, location }) => [event, location]), [["StateSet", "{2}"], ["SignalAwaited", "{3}"]]);
  assert.equal(it.added[0].value, 6);
  assert.deepEqual(it.waiting, ["{3}"]);
});

test("a violation has all its fields, stops the code, and cannot be caught", async () => {
  let wentOn = "";
  const it = await replay(
    async (ctx) => {
      try {
        await ctx.schedule("B");
      } catch (error) {
        wentOn += error.constructor.name;
        try {
          ctx.set("x", 1);
        } catch (again) {
          wentOn += again === error;
        }
      }
      return "fine";
    },
    { history, uuid: "a1b2c3d4-e5f6-7890-abcd-ef1234567890" },
  );
  assert.equal(it.outcome, "violation");
  assert.equal(wentOn, "DeterminismViolationtrue");
  const { violation } = it;
  assert.ok(violation instanceof DeterminismViolation);
  assert.match(violation.headline, /Task type mismatch at Task\(0\): expected 'B', got 'A'/);
  assert.match(violation.code, /^PAWL-\d+$/);
  assert.equal(violation.location, "{1}");
  assert.equal(violation.runId, "a1b2c3d4-e5f6-7890-abcd-ef1234567890");
  assert.match(violation.sourceNow, /tests\/replay\.test\.js:\d+/);
  for (const field of ["label", "recorded", "asked", "advice", "text"]) {
    assert.ok(violation[field].length > 0, field);
  }
  assert.deepEqual(it.added, []);
});

test("recorded failures are read, whatever they look like", async () => {
  const texts = { '"text"': ["", "text"], null: ["", "null"], 7: ["", "7"], "[1]": ["", "[1]"], '{"type":"T","message":"m"}': ["T", "m"] };
  for (const [error, read] of Object.entries(texts)) {
    const failed = [history[0], { event: "TaskFailed", taskExecutionId: "t-1", error: JSON.parse(error) }];
    const { result } = await replay((ctx) => ctx.schedule("A").catch(({ type, message }) => [type, message]), { history: failed });
    assert.deepEqual(result, read);
  }
});

test("operations are executed where they are issued, also those that take their time", async () => {
  const code = async (ctx) => [
    await ctx.run("a", () => 1),
    await ctx.run("b", () => new Promise((resolve) => setTimeout(() => resolve(2), 1))),
    await ctx.run("c", async () => { throw new TypeError("no"); }).catch((error) => error.type),
    await ctx.sendSignal("other", "hello"),
  ];
  const it = await replay(code);
  assert.deepEqual([it.outcome, it.result], ["completed", [1, 2, "TypeError", null]]);
  const left = await replay(code, { execute: false });
  assert.deepEqual([left.outcome, left.waiting], ["suspended", ["{1}"]]);
});

test("the history of a real run is replayed by the same code, and not by other code", { timeout: 20_000 }, async () => {
  const code = async (ctx, n) => {
    const sum = await ctx.run("add", () => n + 1);
    await ctx.sleep("1h");
    return sum;
  };
  await withEnvironment({ workflows: { code } }, async (env) => {
    const run = await env.start(code, { input: 4 });
    assert.equal(await run.result(), 5);
    const recorded = await run.history();
    const { uuid } = await run.describe();
    const same = await replay(code, { history: recorded, input: 4, uuid });
    assert.deepEqual([same.outcome, same.result, same.added], ["completed", 5, []]);
    const other = await replay(async (ctx) => ctx.sleep(1), { history: recorded, uuid });
    assert.equal(other.outcome, "violation");
  });
});

test("a run's ids are given to its code, whose steps may be named by them", { timeout: 20_000 }, async () => {
  const pay = async () => 1;
  const order = async (ctx) => [await ctx.child(pay, `${ctx.info.id}-pay`), ctx.info.id, ctx.info.uuid, ctx.info.number];
  await withEnvironment({ workflows: { order, pay } }, async (env) => {
    const run = await env.start(order, { id: "order-17" });
    const result = await run.result();
    const { id, uuid } = await run.describe();
    const history = await run.history();
    const same = await replay(order, { history, id, uuid });
    assert.deepEqual([same.outcome, same.result], ["completed", result]);
    const other = await replay(order, { history, uuid });
    assert.match(other.violation.headline, /name mismatch/);
  });
});

test("a workflow's own matching is used, and orphans are named", async () => {
  const code = workflow(async () => "done", { matching: "per_kind" });
  const it = await replay(code, { history });
  assert.deepEqual([it.outcome, it.orphaned], ["completed", ["{1}"]]);
  assert.equal((await replay(async () => "done", { history })).outcome, "violation");
});

test("bad histories and options get a sentence", async () => {
  await assert.rejects(replay(async () => {}, { history: "{" }), (error) => error instanceof UsageError && error.message.length > 10);
  await assert.rejects(replay(async () => {}, { history: [{ event: "Nonsense" }] }), /Nonsense/);
  await assert.rejects(replay(async () => {}, { matching: "loose" }), /'loose' is none of strict, per_kind, by_name/);
  await assert.rejects(replay(async () => {}, { uuid: "x" }), /UUID/);
});
