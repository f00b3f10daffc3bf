// Processes that end without closing their engines, and engines in threads.
"use strict";
const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const path = require("node:path");
const { test } = require("node:test");
const { withFolder } = require("./support/environment.js");

const index = JSON.stringify(path.join(__dirname, "..", "dist", "cjs", "index.js"));

function runCode(code) {
  return withFolder((folder) => {
    const { stdout, stderr, status, signal } = spawnSync(process.execPath, ["-e", `const pawl = require(${index});\n${code}`], {
      cwd: folder,
      encoding: "utf8",
      timeout: 20_000,
    });
    return { stdout, stderr, status, signal };
  });
}

test("a client that is not closed does not keep its process alive", async () => {
  const { stdout, status, stderr } = await runCode(`
    pawl.Engine.open("sqlite:x.db").then(async (engine) => {
      console.log((await engine.list()).runs.length);
    });`);
  assert.deepEqual([stdout, status], ["0\n", 0], stderr);
});

test("process.exit() in the middle of work ends it", async () => {
  const { stdout, status, stderr } = await runCode(`
    const work = async (ctx) => { for (;;) { await ctx.run("step", () => 1); } };
    pawl.Engine.open("sqlite:x.db", { workflows: { work } }).then(async (engine) => {
      for (let i = 0; i < 50; ++i) await engine.start(work);
      console.log("started");
      setTimeout(() => process.exit(3), 50);
    });`);
  assert.deepEqual([stdout, status], ["started\n", 3], stderr);
});

test("an engine works in a thread of node:worker_threads, beside one of the main thread", async () => {
  const { stdout, status, stderr } = await runCode(`
    const { Worker, isMainThread } = require("node:worker_threads");
    const body = async (file) => {
      const hello = async (ctx, name) => ctx.run("greet", () => "hello " + name);
      const engine = await pawl.Engine.open("sqlite:" + file, { workflows: { hello } });
      const run = await engine.start(hello, { input: file });
      const result = await run.result();
      await engine.close();
      return result;
    };
    const code = "const pawl = require(" + ${JSON.stringify(index)} + "); (" + body + ")('b.db').then((r) => require('node:worker_threads').parentPort.postMessage(r));";
    const worker = new Worker(code, { eval: true });
    Promise.all([body("a.db"), new Promise((resolve) => worker.on("message", resolve))]).then((all) => console.log(all.join()));`);
  assert.deepEqual([stdout, status], ["hello a.db,hello b.db\n", 0], stderr);
});

test("an error that a workflow's promise is left with is reported as Node does, not lost", async () => {
  const { status, stderr } = await runCode(`
    const work = async (ctx) => { void (async () => { throw new Error("left alone"); })(); await ctx.sleep("1h"); };
    pawl.Engine.open("sqlite:x.db", { workflows: { work } }).then((engine) => engine.start(work));`);
  assert.equal(status, 1);
  assert.match(stderr, /left alone/);
});

test("engines that are closed in the middle of work are closed, again and again", async () => {
  const { stdout, status, stderr } = await runCode(`
    const work = async (ctx) => { for (;;) { await ctx.run("step", async () => 1); } };
    (async () => {
      for (let round = 0; round < 10; ++round) {
        const engine = await pawl.Engine.open("sqlite:x.db", { workflows: { work } });
        await Promise.all(Array.from({ length: 20 }, (_, i) => engine.start(work, { id: "run-" + i })));
        for (let i = 0; i < round; ++i) await new Promise((resolve) => setImmediate(resolve));
        await engine.close();
      }
      console.log("closed");
    })();`);
  assert.deepEqual([stdout, status], ["closed\n", 0], stderr);
});
