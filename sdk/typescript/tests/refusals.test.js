// What can never work is refused at the call, with a sentence that names the culprit.
"use strict";
const assert = require("node:assert/strict");
const { describe, test } = require("node:test");
const { activity, Engine, PayloadError, UsageError, workflow } = require("../dist/cjs/index.js");
const { replay, TestEnvironment } = require("../dist/cjs/testing.js");
const { withEngine, withEnvironment } = require("./support/environment.js");

const limit = { timeout: 20_000 };

describe("payloads that JSON would lose", () => {
  const cycle = { list: [] };
  cycle.list.push(cycle);
  class Point {
    x = 1;
    y = NaN;
  }
  const lost = {
    "it is NaN": NaN,
    "it is -Infinity": -Infinity,
    "it is an object of type Map": new Map([[1, 2]]),
    "it is an object of type Set": new Set(),
    "it is an object of type RegExp": /x/,
    "it is an object of type Error": new TypeError("x"),
    "it is an object of type Uint8Array": new Uint8Array(2),
    "it is an object of type Generator": (function* () {})(),
    "it is a function": () => {},
    "it is a symbol": Symbol("x"),
    "order.items[2].price is NaN": { order: { items: [{ price: 1 }, {}, { price: NaN }] } },
    'a["b c"].d is a bigint': { a: { "b c": { d: 1n } } },
    "[1] is an object of type Map": [1, new Map()],
    "at is no valid date": { at: new Date(NaN) },
    "points[0].y is NaN": { points: [new Point()] },
    "p is a promise that was not awaited": { p: Promise.resolve(1) },
    "call is a function": { call() {} },
    "list[0] is a cycle: it is in itself": cycle,
  };
  for (const [what, value] of Object.entries(lost)) {
    test(what, async () => {
      const { error } = await replay(async (ctx) => ctx.set("x", value));
      assert.ok(error instanceof PayloadError);
      assert.equal(error.message, `state 'x' cannot be written as JSON: ${what}`);
    });
  }

  test("all others are written", async () => {
    const shared = { a: 1 };
    class Money {
      constructor(cents) {
        this.cents = cents;
      }
    }
    class Told {
      toJSON() {
        return "told";
      }
    }
    const value = [shared, shared, new Money(5), new Told(), new Date(0), Buffer.from("a"), Object.create(null), undefined, { u: undefined }, -0.5];
    const { result } = await replay(async (ctx) => {
      ctx.set("x", value);
      return ctx.get("x");
    });
    assert.deepEqual(result, JSON.parse(JSON.stringify(value)));
  });

  test("a future that was not awaited", async () => {
    const { error } = await replay(async (ctx) => ({ sum: ctx.run("x", () => 1) }));
    assert.match(error.message, /sum is a promise that was not awaited/);
  });
});

test("generators are no workflows and no activities", limit, async () => {
  const bodies = [function* () {}, async function* () {}];
  for (const body of bodies) {
    await assert.rejects(TestEnvironment.open({ workflows: { body } }), /workflow 'body' is a generator function/);
    await assert.rejects(TestEnvironment.open({ activities: { body } }), /activity 'body' is a generator function/);
    await assert.rejects(replay(body), /a generator function/);
  }
});

// What `code` ends with, and that it is a UsageError.
async function mistakeOf(code) {
  const { error } = await replay(async (ctx) => code(ctx));
  assert.ok(error instanceof UsageError, String(error));
  return error.message;
}

describe("calls of a context", () => {
  const mistakes = {
    "sleep(undefined)": [(ctx) => ctx.sleep(undefined), /^sleep: 'undefined' is no duration/],
    "sleep(NaN)": [(ctx) => ctx.sleep(NaN), /'NaN' is no duration/],
    "sleepUntil(an invalid date)": [(ctx) => ctx.sleepUntil(new Date("x")), /^sleepUntil: 'Invalid Date' is no time/],
    "sleepUntil(undefined)": [(ctx) => ctx.sleepUntil(undefined), /^sleepUntil: 'undefined' is no time/],
    "withTimeout(f, undefined)": [(ctx) => ctx.withTimeout(ctx.signal("x"), undefined), /^withTimeout: 'undefined' is no duration/],
    "withTimeout(no future)": [(ctx) => ctx.withTimeout(Promise.resolve(1), "1s"), /^withTimeout: only futures/],
    "run() without a function": [(ctx) => ctx.run("x"), /^run 'x': a function is expected, not undefined/],
    "run() without a name": [(ctx) => ctx.run(() => 1), /^run: the name is a text, not a function/],
    "run() with a misspelled option": [(ctx) => ctx.run("x", () => 1, { retries: 3 }), /^run 'x': there is no option 'retries', only retry, timeout, stepKey, args$/],
    "run() with args that are no list": [(ctx) => ctx.run("x", () => 1, { args: 5 }), /^run 'x': args is a list, not 5/],
    "a retry policy that is a number": [(ctx) => ctx.run("x", () => 1, { retry: 3 }), /^run 'x', retry: an object .* is expected, not 3/],
    "a misspelled retry policy": [(ctx) => ctx.schedule("x", 1, { retry: { maxAttempts: 5 } }), /^schedule 'x', retry: there is no option 'maxAttempts', only attempts, initial/],
    "a jitter that is none": [(ctx) => ctx.run("x", () => 1, { retry: { jitter: "1s" } }), /^run 'x', retry: jitter is a number from 0 to 1/],
    "a factor that is none": [(ctx) => ctx.run("x", () => 1, { retry: { factor: 0.5 } }), /^run 'x', retry: factor is a number of at least 1/],
    "types that are no list": [(ctx) => ctx.run("x", () => 1, { retry: { finalTypes: "T" } }), /^run 'x', retry: finalTypes is a list of texts/],
    "signal(name, a duration)": [(ctx) => ctx.signal("x", "5s"), /^signal 'x': an object with timeout, stepKey is expected, not "5s"/],
    "signal(5)": [(ctx) => ctx.signal(5), /^signal: the name is a text, not 5/],
    "promise() with a misspelled option": [(ctx) => ctx.promise("x", { timeOut: 5 }), /^promise 'x': there is no option 'timeOut'/],
    "an empty queue": [(ctx) => ctx.schedule("x", 1, { queue: "" }), /^schedule 'x': queue is a text that is not empty/],
    "a priority that is no whole number": [(ctx) => ctx.schedule("x", 1, { priority: 1.5 }), /^schedule 'x': priority is a whole number/],
    "schedule() with null": [(ctx) => ctx.schedule("x", 1, null), /^schedule 'x': .*not null/],
    "schedule(undefined)": [(ctx) => ctx.schedule(undefined), /^schedule: a function or a name is expected, not undefined/],
    "child() without an id": [(ctx) => ctx.child("kind"), /^child: the id is a text, not undefined/],
    "child() with a misspelled option": [(ctx) => ctx.child("kind", "id", 1, { onClose: "abandon" }), /^child 'id': there is no option 'onClose'/],
    "tags that are no texts": [(ctx) => ctx.child("kind", "id", 1, { tags: { a: 1 } }), /^child 'id': tag 'a' is a text, not 1/],
    "a step key that is no text": [(ctx) => ctx.set("x", 1, { stepKey: 5 }), /^set: stepKey is a text, not 5/],
    "sendSignal() without a name": [(ctx) => ctx.sendSignal("run"), /^sendSignal: the name is a text, not undefined/],
    "an event that is a text": [(ctx) => ctx.sendSignal("r", "s", 1, { event: "e" }), /^sendSignal: event is an object, not "e"/],
    "checkpointEvery of 0": [(ctx) => ctx.loop(0, async () => {}, { checkpointEvery: 0 }), /^loop: checkpointEvery is a whole number of at least 1/],
    "loop() without a body": [(ctx) => ctx.loop(0), /^loop: a function is expected, not undefined/],
    "branch() without a body": [(ctx) => ctx.branch(), /^branch: a function is expected, not undefined/],
    "join() of no list": [(ctx) => ctx.join(async () => 1), /^join: a list of functions is expected, not a function/],
    "join() of no functions": [(ctx) => ctx.join([5]), /^join: a function is expected, not 5/],
    "all() of no list": [(ctx) => ctx.all(ctx.signal("x")), /^all: a list of futures is expected, not an object/],
    "all() of nothing": [(ctx) => ctx.all(), /^all: a list of futures is expected, not undefined/],
    "any() of a promise": [(ctx) => ctx.any([Promise.resolve(1)]), /^any: only futures of a ctx can be given to it, not an object of type Promise/],
    "first() of no list": [(ctx) => ctx.first(5), /^first: a list of futures is expected, not 5/],
    "compensate(undefined)": [(ctx) => ctx.compensate(undefined), /^compensate: a function or a name is expected/],
  };
  for (const [name, [code, message]] of Object.entries(mistakes)) {
    test(name, async () => assert.match(await mistakeOf(code), message));
  }
});

describe("calls of clients", () => {
  test("are refused with what is wrong", limit, async () => {
    const echo = async (_ctx, input) => input;
    const named = (message) => (error) => {
      assert.ok(error instanceof UsageError, String(error));
      assert.match(error.message, message);
      return true;
    };
    await assert.rejects(Engine.open("sqlite:x.db", { workflow: { echo } }), named(/^Engine.open: there is no option 'workflow', only workflows, /));
    await assert.rejects(Engine.open("sqlite:x.db", 5), named(/^Engine.open: an object .* is expected, not 5/));
    await assert.rejects(Engine.open({ workflows: { echo } }), named(/^Engine.open: the URL is a text, not an object/));
    await assert.rejects(TestEnvironment.open({ fake: {} }), named(/^TestEnvironment.open: there is no option 'fake'/));
    await assert.rejects(TestEnvironment.open({ workflows: echo }), named(/^options: workflows is an object, not a function/));
    await assert.rejects(TestEnvironment.open({ activities: null }), named(/^options: activities is an object, not null/));
    await assert.rejects(TestEnvironment.open({ fakes: { x: 5 } }), named(/^fake 'x' is no function, but 5/));
    await assert.rejects(TestEnvironment.open({ workerName: 5 }), named(/^options: workerName is a text, not 5/));
    await assert.rejects(TestEnvironment.open({ cacheBytes: "1" }), named(/^options: cacheBytes is a whole number of at least 0, not "1"/));
    await assert.rejects(TestEnvironment.open({ onError: 5 }), named(/^options, onError: a function is expected, not 5/));
    await assert.rejects(TestEnvironment.open({ lease: 0 }), named(/^options: lease is longer than 0/));
    await assert.rejects(replay(echo, { runID: "x" }), named(/^replay: there is no option 'runID'/));
    assert.throws(() => workflow(echo, { match: "strict" }), named(/^workflow: there is no option 'match'/));
    assert.throws(() => activity(echo, { retry: {} }), named(/^activity: there is no option 'retry'/));
    await withEngine({ workflows: { echo } }, async (engine) => {
      await assert.rejects(engine.start(echo, "my-id"), named(/^start 'echo': an object .* is expected, not "my-id"/));
      await assert.rejects(engine.start(echo, { ID: "x" }), named(/^start 'echo': there is no option 'ID', only id, /));
      await assert.rejects(engine.start(echo, { id: 5 }), named(/^start 'echo': id is a text, not 5/));
      await assert.rejects(engine.start(echo, { tags: { a: 1 } }), named(/^start 'echo': tag 'a' is a text, not 1/));
      await assert.rejects(engine.signalWithStart(echo, { id: "x", signal: "s", payload: 1 }), named(/^signalWithStart 'echo': there is no option 'payload'/));
      await assert.rejects(engine.signalWithStart(echo), named(/^signalWithStart 'echo': an object .* is expected, not undefined/));
      await assert.rejects(engine.list({ kind: "echo" }), named(/^list: there is no option 'kind', only kinds/));
      assert.throws(() => engine.get(undefined), named(/^get: the id is a text, not undefined/));
      const run = await engine.start(echo, { id: "x" });
      await assert.rejects(run.result({ limit: 5 }), named(/^result: there is no option 'limit', only timeout/));
      await assert.rejects(run.result("5s"), named(/^result: an object with timeout is expected, not "5s"/));
      await assert.rejects(run.signal(5), named(/^signal: the name is a text, not 5/));
      await assert.rejects(run.signal("s", 1, { id: "e" }), named(/^signal 's': there is no option 'id', only event/));
      await assert.rejects(run.signal("s", 1, { event: "e" }), named(/^signal 's': event is an object, not "e"/));
      await assert.rejects(run.resolve(undefined, 1), named(/^resolve: the promise's name is a text, not undefined/));
      await assert.rejects(run.cancel({}), named(/^cancel: the reason is a text, not an object/));
    });
    await withEnvironment({}, (env) => assert.rejects(env.advance(), named(/^advance: 'undefined' is no duration/)));
  });
});

test("a test environment refuses what nobody will serve", limit, async () => {
  const charge = () => 1;
  const workflows = {
    task: (ctx) => ctx.schedule("chrage"),
    late: (ctx) => ctx.schedule("chrage", 1, { waitTimeout: "1h" }),
    child: (ctx) => ctx.child("ordre", "kid"),
    saga: async (ctx) => ctx.compensate("uncharge"),
  };
  const messages = {
    task: "schedule 'chrage': this test environment has no activity 'chrage', only charge, refund: give it one, or a fake",
    late: "task 'chrage' timed out",
    child: "child 'kid': this test environment has no workflow 'ordre', only task, late, child, saga",
    saga: "compensate: this test environment has no activity 'uncharge', only charge, refund: give it one, or a fake",
  };
  await withEnvironment({ workflows, activities: { charge }, fakes: { refund: () => 2 } }, async (env) => {
    for (const [kind, message] of Object.entries(messages)) {
      await assert.rejects((await env.start(kind)).result(), (error) => {
        assert.ok(error.message === message || kind === "late", error.message);
        return true;
      });
    }
    await assert.rejects(env.start("ordre"), /^UsageError: start 'ordre': this test environment has no workflow 'ordre'/);
  });
});

test("only what is undefined has no limit", limit, async () => {
  const waits = async (ctx) => {
    const caught = [];
    for (const timeout of [0, 0.3, "0s"]) {
      await ctx.signal("x", { timeout }).catch((error) => caught.push(error.constructor.name));
      await ctx.promise(`p${timeout}`, { timeout }).catch((error) => caught.push(error.constructor.name));
    }
    return caught;
  };
  await withEnvironment({ workflows: { waits } }, async (env) => {
    assert.deepEqual(await (await env.start(waits)).result({ timeout: "10s" }), Array(6).fill("TimedOut"));
  });
});
