// All scenarios of the tree, through the public API; and that a wrong one is noticed.
"use strict";
const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { withFolder } = require("./support/environment.js");

const root = path.join(__dirname, "..", "..", "..");
const conform = (...places) =>
  spawnSync(process.execPath, [path.join(__dirname, "conform.js"), ...places], { encoding: "utf8" });

test("all scenarios pass", () => {
  const { stdout, status } = conform(path.join(root, "conformance"), path.join(root, "docs", "examples"));
  assert.equal(status, 0, stdout.split("\n").filter((line) => line.startsWith("FAIL")).join("\n"));
  const [, passed] = /^(\d+) passed, 0 failed$/m.exec(stdout);
  assert.ok(Number(passed) > 900);
});

test("what differs, and what is broken, fails with a line", () =>
  withFolder((folder) => {
    const file = path.join(folder, "bad.json");
    const program = [{ set: "k", value: 1 }, { get: "k", as: "x" }, { return: 1 }];
    fs.writeFileSync(
      file,
      JSON.stringify([
        { name: "result", program, expect: { outcome: "completed", result: 2 } },
        { name: "new", program, expect: { outcome: "completed", new: [{ event: "StateSet", value: 2 }] } },
        { name: "value", program, expect: { outcome: "completed", values: { x: 2 } } },
        { name: "outcome", program, expect: { outcome: "failed", error: { contains: ["x"] } } },
        { name: "waiting", program, expect: { outcome: "completed", waiting: ["{1}"] } },
        { name: "verb", program: [{ jump: 1 }], expect: { outcome: "completed" } },
        { program },
        { name: "right", program, expect: { outcome: "completed", result: 1, values: { x: 1 } } },
      ]),
    );
    fs.writeFileSync(path.join(folder, "broken.json"), "{");
    const { stdout, status } = conform(folder, path.join(folder, "missing.json"));
    assert.equal(status, 1);
    assert.match(stdout, /^FAIL result: result: expected 2, got 1$/m);
    assert.match(stdout, /^FAIL verb: .*there is no step 'jump'$/m);
    assert.match(stdout, /^1 passed, 9 failed$/m);
  }));

test("a shield is for the awaits in it, wherever their futures were made", () =>
  withFolder((folder) => {
    const history = [
      { event: "TaskScheduled", location: "{1}", taskType: "A", taskExecutionId: "t-a" },
      { event: "CancellationRequested" },
    ];
    const task = { task: "A", as: "a" };
    const waits = { await: "a" };
    const any = { await_any: ["a"], as: "w" };
    const programs = [
      [[{ shield: [task] }, waits], "cancelled"],
      [[{ shield: [task] }, any], "cancelled"],
      [[{ shield: [task, { branch: [waits] }] }], "suspended"],
      [[task, { shield: [waits] }], "suspended"],
      [[task, { shield: [any] }], "suspended"],
      [[task, { shield: [{ try: [{ join: [[{ loop: [waits], times: 1 }]] }], catch: [] }] }], "suspended"],
    ];
    const file = path.join(folder, "shields.json");
    const scenarios = programs.map(([program, outcome]) => ({ name: JSON.stringify(program), history, program, expect: { outcome } }));
    fs.writeFileSync(file, JSON.stringify(scenarios));
    const { stdout, status } = conform(file);
    assert.equal(status, 0, stdout);
  }));

test("the winner's name is written after its value", () =>
  withFolder((folder) => {
    const file = path.join(folder, "any.json");
    const history = [
      { event: "TaskScheduled", location: "{1}", taskType: "A", taskExecutionId: "t-a" },
      { event: "TaskCompleted", taskExecutionId: "t-a", result: 7 },
    ];
    const program = [{ task: "A", as: "x" }, { await_any: ["x"], as: "x" }, { return: { $: "x" } }];
    fs.writeFileSync(file, JSON.stringify({ name: "any", history, program, expect: { outcome: "completed", result: "x" } }));
    const { stdout, status } = conform(file);
    assert.equal(status, 0, stdout);
  }));
