// Clients' calls, on a SQLite file.
"use strict";
const assert = require("node:assert/strict");
const { test } = require("node:test");
const pawl = require("../dist/cjs/index.js");
const { withEngine, withEnvironment } = require("./support/environment.js");

const { AlreadyExists, Closed, Engine, NotFound, StoreError, TimedOut, UsageError, WorkflowFailed } = pawl;

const echo = async (_ctx, input) => input ?? "nothing";
const waits = async (ctx) => {
  ctx.set("state", "waiting");
  return ctx.signal("go");
};
const workflows = { echo, waits };
const limit = { timeout: 20_000 };

test("runs are started, once for each id", limit, () =>
  withEngine({ workflows }, async (engine) => {
    const run = await engine.start(echo, { id: "a", input: { x: ["ü", 1.5, null] }, tags: { shop: "7" } });
    assert.equal(run.isNew, true);
    assert.deepEqual(await run.result(), { x: ["ü", 1.5, null] });
    assert.equal((await engine.start(echo, { id: "a" })).isNew, false);
    await assert.rejects(engine.start(echo, { id: "a", onExisting: "fail" }), AlreadyExists);
    await assert.rejects(engine.start(echo, { id: "a", onExisting: "maybe" }), UsageError);
    const replaced = await engine.start("echo", { id: "a", onExisting: "replace", input: 2 });
    assert.equal(await replaced.result(), 2);
    const made = await engine.start(echo);
    assert.notEqual(made.id, "");
    assert.equal(await made.result(), "nothing");
    await assert.rejects(engine.start(echo, { input: 1n }), /input of workflow 'echo' cannot be written as JSON/);
    await assert.rejects(engine.start(() => {}), /no name/);
  }));

test("signalWithStart is both in one", limit, () =>
  withEngine({ workflows }, async (engine) => {
    const run = await engine.signalWithStart(waits, { id: "w", signal: "go", value: 5 });
    assert.equal(await run.result(), 5);
    await assert.rejects(engine.signalWithStart(waits, { id: "w", signal: "" }), UsageError);
  }));

test("runs are described, listed, paused, terminated", limit, () =>
  withEngine({ workflows }, async (engine) => {
    const run = await engine.start(waits, { id: "w", tags: { a: "1" } });
    await engine.start(echo, { id: "e" });
    await engine.get("e").result();
    const open = await engine.list({ kinds: ["waits"], tags: { a: "1" } });
    assert.deepEqual(open.runs.map(({ id }) => id), ["w"]);
    const first = await engine.list({ limit: 1 });
    const second = await engine.list({ limit: 1, cursor: first.next });
    assert.equal(new Set([first, second].flatMap(({ runs }) => runs.map(({ id }) => id))).size, 2);
    assert.equal(await run.pause(), true);
    assert.equal(await run.pause(), false);
    assert.equal(await run.unpause(), true);
    await run.terminate("no more");
    await assert.rejects(run.result(), pawl.PawlError);
    await assert.rejects(run.signal("go"), Closed);
    await assert.rejects(engine.list({ statuses: ["asleep"] }), /asleep/);
  }));

test("what is not there is NotFound, and what takes too long TimedOut", limit, () =>
  withEngine({ workflows }, async (engine) => {
    const nobody = engine.get("nobody");
    for (const call of [() => nobody.describe(), () => nobody.result(), () => nobody.signal("x"), () => nobody.history(), () => nobody.resume()]) {
      await assert.rejects(call(), NotFound);
    }
    assert.equal(await nobody.exists(), false);
    const run = await engine.start(waits, { id: "w" });
    await assert.rejects(run.result({ timeout: 20 }), TimedOut);
    await run.signal("go", 1);
    assert.equal(await run.result({ timeout: "20s" }), 1);
    await assert.rejects(engine.resolve("no token", 1), pawl.PawlError);
  }));

test("another engine on the same store is a client, and does not keep the process alive", limit, () =>
  withEngine({ workflows }, async (engine, url) => {
    const client = await Engine.open(url);
    const run = await client.start("echo", { id: "far", input: 3 });
    assert.equal(await run.result(), 3);
    await client.close();
    assert.equal(await engine.get("far").result(), 3);
  }));

test("each engine has names of its own for functions", limit, async () => {
  const which = async (ctx, input) => [ctx.info.kind, input ?? (await ctx.child(which, "child", 1))];
  await withEngine({ workflows: { alpha: which } }, (a) =>
    withEngine({ workflows: { beta: which } }, async (b) => {
      assert.deepEqual(await (await a.start(which)).result(), ["alpha", ["alpha", 1]]);
      assert.deepEqual(await (await b.start(which)).result(), ["beta", ["beta", 1]]);
    }));
});

test("bad options get a sentence", limit, async () => {
  await assert.rejects(Engine.open(""), /options.url is empty/);
  await assert.rejects(Engine.open("nonsense:x"), pawl.PawlError);
  await assert.rejects(Engine.open("sqlite:/nowhere/at/all.db"), StoreError);
  await withEngine({}, (_engine, url) =>
    assert.rejects(Engine.open(url, { workflows: { x: 5 } }), /workflow 'x' is no function/));
  await assert.rejects(Engine.open("sqlite:x.db", { lease: "soon" }), /'soon' is no duration/);
});

for (const fingerprint of [undefined, "1"]) {
  const which = fingerprint === undefined ? "without a fingerprint" : "with one";
  test(`code that is not deterministic fails its run, and says where: ${which}`, limit, async () => {
    let turn = 0;
    const code = async (ctx) => {
      await ctx.run(`step ${turn++}`, () => 1);
      await ctx.sleep("1h");
    };
    const fickle = pawl.workflow(code, { fingerprint });
    await withEnvironment({ workflows: { fickle }, replayEveryTurn: true }, async (env) => {
      const run = await env.start(fickle, { id: "f" });
      await assert.rejects(run.result({ timeout: "10s" }), (error) => {
        assert.ok(error instanceof WorkflowFailed, String(error));
        assert.equal(error.type, "DETERMINISM_VIOLATION");
        assert.match(error.message, /step 0/);
        return true;
      });
    });
  });
}

test("an onError that throws is told of, and the events behind it are not lost", limit, async (t) => {
  const { mock } = t.mock.method(console, "error", () => {});
  const told = [];
  const beats = (ctx) => ctx.schedule("beat");
  const activities = {
    beat: (_input, attempt) => {
      for (let i = 0; i < 5; ++i) {
        attempt.heartbeat("too large".repeat(500));
        // Nothing is handled meanwhile: two batches are on their way then, and all others come in one.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      }
    },
  };
  const onError = (message) => {
    told.push(message);
    throw new Error("no log today");
  };
  await withEngine({ workflows: { beats }, activities, payloadBytesMax: 1000, onError }, async (engine) => {
    await (await engine.start(beats)).result({ timeout: "10s" });
  });
  assert.equal(told.length, 5);
  assert.deepEqual(
    mock.calls.map(({ arguments: [message, error] }) => [message, error.message]),
    told.map((message) => [`pawl: ${message}; and onError threw:`, "no log today"]),
  );
});
