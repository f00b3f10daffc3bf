// Whatever is thrown or returned, whoever waits gets an answer.
"use strict";
const assert = require("node:assert/strict");
const { describe, test } = require("node:test");
const { ActivityError } = require("../dist/cjs/index.js");
const { replay } = require("../dist/cjs/testing.js");
const { withEngine, withEnvironment } = require("./support/environment.js");

const limit = { timeout: 20_000 };
const unreadable = new Proxy(new Error(), {
  get() {
    throw new Error("hands off");
  },
});
const cycle = {};
cycle.self = cycle;

const thrown = {
  "an object without a prototype": [Object.create(null), "", /^\{\}$/],
  "a plain object": [{ code: 7, why: "because" }, "", /^\{"code":7,"why":"because"\}$/],
  "a plain object with a message": [{ message: "said" }, "", /^said$/],
  "a long object": [{ text: "x".repeat(10_000) }, "", /^.{500}…$/],
  "an error whose message is an object": [Object.assign(new Error(), { message: { code: 1 } }), "Error", /^\{"code":1\}$/],
  "a type that is a number": [new ActivityError(5, "m"), "5", /^m$/],
  "a symbol": [Symbol("s"), "", /^Symbol\(s\)$/],
  "a cycle": [cycle, "", /no text/],
  "nothing": [undefined, "", /^undefined$/],
  "what throws when it is looked at": [unreadable, "", /no text/],
  "a delay that is none": [new ActivityError("T", "m", { nextDelay: "soon" }), "UsageError", /'soon' is no duration.*thrown was: m/],
  "an unknown option": [new ActivityError("T", "m", { finally: true }), "UsageError", /'finally'.*thrown was: m/],
};

describe("what is thrown", () => {
  for (const [name, [error, type, message]] of Object.entries(thrown)) {
    for (const where of ["operation", "async operation", "task", "workflow"]) {
      if (where === "workflow" && type === "UsageError") {
        continue; // Options are for attempts.
      }
      test(`${name}, by ${where}`, limit, async () => {
        const fail = () => {
          throw error;
        };
        const workflows = {
          workflow: async (ctx) => {
            await {
              operation: () => ctx.run("x", fail),
              "async operation": () => ctx.run("x", async () => fail()),
              task: () => ctx.schedule("fails"),
              workflow: fail,
            }[where]();
          },
        };
        await withEnvironment({ workflows, activities: { fails: fail } }, async (env) => {
          const run = await env.start("workflow");
          await assert.rejects(run.result(), (failure) => {
            // A failed step has a type, if what it threw has none.
            assert.equal(failure.type, type || (where === "workflow" ? "" : "ActivityFailed"));
            assert.match(failure.message, message);
            return true;
          });
        });
      });
    }
  }

  test("details that cannot be written say so, and the rest is there", limit, async () => {
    const workflow = (ctx) =>
      ctx
        .run("x", () => {
          throw new ActivityError("T", "m", { details: { sum: NaN } });
        })
        .catch(({ type, message, details }) => [type, message, details]);
    await withEnvironment({ workflows: { workflow } }, async (env) => {
      const [type, message, details] = await (await env.start(workflow)).result();
      assert.deepEqual([type, message], ["T", "m"]);
      assert.match(details, /sum is NaN/);
    });
  });

  test("the next attempt comes after nextDelay, also if that is a text", limit, async () => {
    const workflow = async (ctx) => {
      const before = ctx.now();
      const fail = ({ attempt }) => {
        if (attempt === 1) {
          throw new ActivityError("T", "m", { nextDelay: "5s" });
        }
      };
      await ctx.run("x", fail, { retry: { attempts: 2, initial: "1h" } });
      return ctx.now() - before;
    };
    await withEnvironment({ workflows: { workflow } }, async (env) => {
      assert.equal(await (await env.start(workflow)).result(), 5000);
    });
  });
});

test("what fails says where, if it has no details of its own", limit, async () => {
  const bug = (none) => none.such.thing;
  const workflows = {
    operation: (ctx) => ctx.run("x", bug),
    task: (ctx) => ctx.schedule("bug"),
    workflow: async (ctx) => {
      await ctx.run("x", () => 1);
      bug();
    },
    guarded: async () => Date.now(),
    told: (ctx) => ctx.run("x", () => { throw new ActivityError("T", "m"); }),
  };
  await withEnvironment({ workflows, activities: { bug } }, async (env) => {
    for (const kind of Object.keys(workflows)) {
      await assert.rejects((await env.start(kind)).result(), ({ details }) => {
        if (kind === "told") {
          assert.equal(details, undefined);
        } else {
          assert.match(details.at[0], /^tests\/answers\.test\.js:\d+$/);
          assert.ok(details.at.length <= 3);
        }
        return true;
      });
    }
  });
});

test("what is returned is looked at with care", limit, async () => {
  const bad = {
    get then() {
      throw new Error("no promise");
    },
  };
  const workflow = (ctx) => ctx.run("x", () => bad).catch((error) => error.message);
  await withEnvironment({ workflows: { workflow } }, async (env) => {
    assert.equal(await (await env.start(workflow)).result(), "no promise");
  });
  assert.equal((await replay(workflow)).result, "no promise");
  const like = (ctx) => ctx.run("x", () => ({ then: (resolve) => resolve(5) }));
  assert.equal((await replay(like)).result, 5);
});

test("a result that is too large fails for good", limit, async () => {
  const workflow = (ctx) => ctx.run("x", () => "x".repeat(5000)).catch(({ type }) => type);
  await withEnvironment({ workflows: { workflow }, payloadBytesMax: 1000 }, async (env) => {
    assert.equal(await (await env.start(workflow)).result(), "PayloadTooLarge");
  });
  const large = async () => "x".repeat(5000);
  await withEnvironment({ workflows: { large }, payloadBytesMax: 1000 }, async (env) => {
    await assert.rejects((await env.start(large)).result(), { type: "PayloadTooLarge" });
  });
});

test("limits beyond what a timer of Node's can take are no shorter for it", limit, async () => {
  const workflow = (ctx) => ctx.signal("go");
  await withEngine({ workflows: { workflow } }, async (engine) => {
    const run = await engine.start(workflow);
    const result = run.result({ timeout: "60d" });
    const first = await Promise.race([result.catch((error) => error), new Promise((resolve) => setTimeout(resolve, 50, "waits"))]);
    assert.equal(first, "waits");
    await run.signal("go", 5);
    assert.equal(await result, 5);
  });
});
