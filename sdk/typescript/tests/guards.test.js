// What must not be used in workflow code says so, and says what to use instead.
"use strict";
const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const { describe, test } = require("node:test");
const { setTimeout: realSleep } = require("node:timers/promises");
const { UsageError, WorkflowFailed } = require("../dist/cjs/index.js");
const { replay } = require("../dist/cjs/testing.js");
const { withEnvironment, withFolder } = require("./support/environment.js");

const refused = {
  "Date.now()": [() => Date.now(), "ctx.now()"],
  "new Date()": [() => new Date(), "ctx.now()"],
  "Date()": [() => Date(), "ctx.now()"],
  "Math.random()": [() => Math.random(), "ctx.random()"],
  "setTimeout()": [() => setTimeout(() => {}, 1), "ctx.sleep()"],
  "setInterval()": [() => setInterval(() => {}, 1), "ctx.sleep()"],
  "setImmediate()": [() => setImmediate(() => {}), "ctx.sleep()"],
  "fetch()": [() => fetch("http://localhost"), "ctx.run("],
  "performance.now()": [() => performance.now(), "ctx.now()"],
  "process.hrtime()": [() => process.hrtime(), "ctx.now()"],
  "process.hrtime.bigint()": [() => process.hrtime.bigint(), "ctx.now()"],
  "crypto.randomUUID()": [() => crypto.randomUUID(), "ctx.uuid()"],
  "globalThis.crypto.randomUUID()": [() => globalThis.crypto.randomUUID(), "ctx.uuid()"],
  "crypto.randomBytes()": [() => crypto.randomBytes(4), "ctx.random()"],
  "crypto.randomInt()": [() => crypto.randomInt(4), "ctx.random()"],
  "crypto.randomFillSync()": [() => crypto.randomFillSync(Buffer.alloc(4)), "ctx.random()"],
  "crypto.getRandomValues()": [() => crypto.getRandomValues(Buffer.alloc(4)), "ctx.random()"],
  "timers.setTimeout()": [() => require("node:timers").setTimeout(() => {}, 1), "ctx.sleep()"],
  "timers/promises.setTimeout()": [() => require("node:timers/promises").setTimeout(1), "ctx.sleep()"],
  "timers/promises.scheduler.wait()": [() => require("node:timers/promises").scheduler.wait(1), "ctx.sleep()"],
  "http.get()": [() => require("node:http").get("http://localhost:1"), "ctx.run("],
  "https.request()": [() => require("node:https").request("https://localhost:1"), "ctx.run("],
  "net.connect()": [() => require("node:net").connect(1), "ctx.run("],
  "dns.lookup()": [() => require("node:dns").lookup("localhost", () => {}), "ctx.run("],
};

describe("in workflow code", () => {
  for (const [name, [call, instead]] of Object.entries(refused)) {
    for (const isLater of [false, true]) {
      test(`${name} is refused${isLater ? " after an await" : ""}`, async () => {
        const { outcome, error } = await replay(async (ctx) => {
          if (isLater) {
            await ctx.run("step", () => 1);
          }
          call();
        });
        assert.equal(outcome, "failed");
        assert.ok(error instanceof UsageError, String(error));
        assert.ok(error.message.includes(instead), error.message);
      });
    }
  }

  test("what a module imported by name is refused, too", { timeout: 20_000 }, () =>
    withFolder((folder) => {
      const testing = JSON.stringify(path.join(__dirname, "..", "dist", "esm", "testing.mjs"));
      const file = path.join(folder, "imports.mjs");
      fs.writeFileSync(file, `
        import { setTimeout } from "node:timers";
        import { setTimeout as later } from "node:timers/promises";
        import { get } from "node:http";
        import { randomInt } from "node:crypto";
        import { replay } from ${testing};
        for (const call of [() => setTimeout(() => {}, 1), () => later(1), () => get("http://localhost:1"), () => randomInt(5)]) {
          const { error } = await replay(async () => call());
          console.log(error?.name);
        }
        setTimeout(() => console.log("outside"), 1);`);
      const { stdout, stderr } = spawnSync(process.execPath, [file], { encoding: "utf8" });
      assert.equal(stdout, `${"UsageError\n".repeat(4)}outside\n`, stderr);
    }));

  test("dates that do not depend on the clock are fine, and so are promises and microtasks", async () => {
    const { outcome, result, error } = await replay(async (ctx) => {
      await new Promise((resolve) => queueMicrotask(resolve));
      const [date] = await Promise.all([Promise.resolve(new Date(ctx.now())), ctx.run("a", () => 1)]);
      return [date instanceof Date, date.toISOString(), new Date("2026-01-02").getUTCDate(), Date.UTC(1970, 0, 1)];
    });
    assert.equal(outcome, "completed", String(error));
    assert.deepEqual(result, [true, "1970-01-01T00:00:00.000Z", 2, 0]);
  });
});

describe("outside of workflow code", () => {
  test("all of it works: in operations, activities and tests", { timeout: 20_000 }, async () => {
    const server = require("node:http").createServer((_request, response) => response.end("hello"));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = `http://127.0.0.1:${server.address().port}`;
    const fetched = async () => {
      const body = await (await fetch(address)).text();
      const got = await new Promise((resolve) => require("node:http").get(address, resolve));
      got.resume();
      return [body, got.statusCode];
    };
    const calls = () => [typeof Date.now(), new Date() instanceof Date, typeof Math.random(), crypto.randomUUID().length];
    const expected = ["number", true, "number", 36];
    const workflow = async (ctx) => [await ctx.run("calls", calls), await ctx.schedule("calls"), await ctx.run("get", fetched)];
    const activities = {
      calls: async () => {
        await realSleep(1);
        await new Promise((resolve) => setTimeout(resolve, 1));
        return calls();
      },
    };
    await withEnvironment({ workflows: { workflow }, activities }, async (env) => {
      assert.deepEqual(await (await env.start(workflow)).result(), [expected, expected, ["hello", 200]]);
    });
    server.close();
    server.closeAllConnections();
    assert.deepEqual(calls(), expected);
    assert.equal(new Date(5).constructor, Date);
  });
});

describe("awaiting what is not a step", () => {
  const bad = {
    "a timer of Node's": async () => realSleep(1),
    "a promise that nobody resolves": () => new Promise(() => {}),
    "I/O": async () => require("node:fs/promises").stat("."),
    "a tick": () => new Promise((resolve) => process.nextTick(() => process.nextTick(resolve))),
  };
  for (const [name, wait] of Object.entries(bad)) {
    test(`fails the run: ${name}`, { timeout: 20_000 }, async () => {
      const workflow = async (ctx) => {
        await ctx.run("before", () => 1);
        await wait();
        await ctx.run("after", () => 2);
      };
      await withEnvironment({ workflows: { workflow } }, async (env) => {
        await assert.rejects((await env.start(workflow)).result(), (error) => {
          assert.ok(error instanceof WorkflowFailed);
          assert.match(error.message, /awaits something that is not a step/);
          return true;
        });
      });
    });
  }

  test("beside a step, it fails the run as soon as it goes on", { timeout: 20_000 }, async () => {
    let seen;
    const workflow = async (ctx) => {
      const both = Promise.all([ctx.signal("go"), realSleep(1).then(() => ctx.run("late", () => 1))]);
      await both.catch((error) => {
        seen = error;
        throw error;
      });
    };
    await withEnvironment({ workflows: { workflow } }, async (env) => {
      const run = await env.start(workflow);
      while (seen === undefined) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.ok(seen instanceof UsageError);
      await run.signal("go");
      await assert.rejects(run.result(), /outside of its workflow's turn/);
    });
  });

  test("a context that is used in an activity is refused", { timeout: 20_000 }, async () => {
    const workflow = (ctx) => ctx.run("inner", () => ctx.set("x", 1));
    await withEnvironment({ workflows: { workflow } }, async (env) => {
      await assert.rejects((await env.start(workflow)).result(), /outside of its workflow's turn: in an activity/);
    });
  });

  for (const isLater of [false, true]) {
    test(`it fails just that operation${isLater ? ", also after an await" : ""}`, { timeout: 20_000 }, async () => {
      const workflow = async (ctx) => {
        const inner = async () => {
          if (isLater) {
            await realSleep(1);
          }
          return ctx.now();
        };
        const errors = [];
        for (const body of isLater ? [inner] : [inner, () => ctx.now()]) {
          await ctx.run("inner", body).catch(({ type, message }) => errors.push([type, message]));
        }
        return [errors, await ctx.run("after", () => 1)];
      };
      const check = ([errors, after]) => {
        assert.equal(after, 1);
        for (const [type, message] of errors) {
          assert.equal(type, "UsageError");
          assert.match(message, /^now: the context was used outside of its workflow's turn: in an activity/);
        }
      };
      await withEnvironment({ workflows: { workflow } }, async (env) => check(await (await env.start(workflow)).result()));
      const replayed = await replay(workflow);
      assert.equal(replayed.outcome, "completed", String(replayed.error));
      check(replayed.result);
    });
  }

  test("a context of another run is refused", { timeout: 20_000 }, async () => {
    let other;
    const workflow = async (ctx) => {
      other ??= ctx;
      await ctx.signal("go");
      other.set("x", 1);
    };
    await withEnvironment({ workflows: { workflow } }, async (env) => {
      await env.start(workflow, { id: "a" });
      const second = await env.start(workflow, { id: "b" });
      await second.signal("go");
      await assert.rejects(second.result(), /belongs to another run/);
    });
  });
});
