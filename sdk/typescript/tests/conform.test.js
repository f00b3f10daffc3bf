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
    assert.match(stdout, /^FAIL verb: .*there is no step 'jump'/m);
    assert.match(stdout, /^1 passed, 9 failed$/m);
  }));

test("what is no scenario is refused, with its place", () =>
  withFolder((folder) => {
    const good = { name: "x", program: [], expect: { outcome: "completed" } };
    const step = { now: true, as: "x" };
    const before = [{ task: "A", as: "task" }, { get: "k", as: "null" }, step];
    const inSteps = [
      [1, ": expected an object, got 1"],
      [{}, ": a step needs a verb as its first key"],
      [{ constructor: 1 }, ": there is no step 'constructor' (the first key of a step is its verb)"],
      [{ task: "A", speed: 3 }, ".speed: there is no such field"],
      [{ task: "A", as: "" }, ".as: must not be empty"],
      [{ task: 5 }, ".task: expected a text, got 5"],
      [{ run: "a", returns: 1, throws: "x" }, ".throws: a run either returns or throws"],
      [{ run: "a", throws: 1 }, ".throws: expected a text, got 1"],
      [{ now: false }, ".now: expected true, got false"],
      [{ timer: 1.5 }, ".timer: expected a whole number from 0 to 2305843009213693951, got 1.5"],
      [{ set: "k" }, ".value: missing"],
      [{ loop: [] }, ".times: missing"],
      [{ loop: [], times: "3" }, '.times: expected a whole number from 0 to 2305843009213693951, got the text "3"'],
      [{ try: [] }, ".catch: missing"],
      [{ if: "x", equals: 1, then: [], else: [{ branch: {} }] }, ".else[0].branch: expected a list, got an object"],
      [{ join: [[], [{ await_any: [] }]] }, ".join[1][0].await_any: must not be empty"],
      [{ removed: "nonsense" }, ".removed: expected one of task, operation, timer, "],
      [{ await: "y" }, ": variable 'y' is not set"],
      [{ loop: [], times: { $: "null" } }, ".times: expected a whole number from 0, got null"],
      [{ join: [[{ await: "task" }], [{ return: { $: "y" } }]] }, ".join[1][0]: variable 'y' is not set"],
      [{ try: [{ loop: [], times: 1e18 }], catch: [] }, ".try[0]: the program runs for more than 1000000 steps"],
    ];
    const refused = [
      [{ name: 5 }, "name: expected a text, got 5"],
      [{ matching: null }, "matching: expected one of strict, per_kind, by_name, got null"],
      [{ matchin: "per_kind" }, "matchin: there is no such field; is it 'matching'?"],
      [{ run: "abc" }, 'run: expected an object, got the text "abc"'],
      [{ history: null }, "history: expected a list, got null"],
      [{ expect: { outcome: "completed", valuse: {} } }, "expect.valuse: there is no such field; is it 'values'?"],
      [{ expect: { outcome: "completed", values: [] } }, "expect.values: expected an object, got a list"],
      ...inSteps.map(([wrong, what]) => [
        { program: [...before, wrong], expect: { outcome: "suspended" } },
        `program[3]${what}`,
      ]),
    ];
    const file = path.join(folder, "bad.json");
    fs.writeFileSync(file, JSON.stringify(refused.map(([wrong]) => ({ ...good, ...wrong }))));
    const { stdout, status } = conform(file);
    const lines = stdout.split("\n");
    for (const [i, [wrong, what]] of refused.entries()) {
      const start = `FAIL ${"name" in wrong ? "" : "x: "}${file}[${i}]: ${what}`;
      assert.equal(lines[i].slice(0, start.length), start);
    }
    assert.equal(lines[refused.length], `0 passed, ${refused.length} failed`);
    assert.equal(status, 1);
  }));

test("what cannot be read is refused, and the other files are run", () =>
  withFolder((folder) => {
    const withProgram = (program) => `{"name": "x", "program": ${program}, "expect": {"outcome": "completed"}}`;
    const files = [
      ["[".repeat(1_000_000), /JSON/],
      [withProgram("[".repeat(20_000) + "]".repeat(20_000)), /nested more than 2000 deep$/],
      [withProgram('[{"return": "\\ud800"}]'), /half a surrogate pair$/],
      [Buffer.from(withProgram('[{"return": "\xff"}]'), "latin1"), /not valid/],
      ["[]", /holds no scenario$/],
    ];
    files.forEach(([content], i) => fs.writeFileSync(path.join(folder, `${i}.json`), content));
    fs.writeFileSync(path.join(folder, "good.json"), withProgram("[]"));
    const none = path.join(folder, "none");
    fs.mkdirSync(none);
    const lines = conform(folder, none).stdout.trim().split("\n");
    files.forEach(([, what], i) => {
      assert.ok(lines[i].startsWith(`FAIL ${path.join(folder, `${i}.json`)}: `), lines[i]);
      assert.match(lines[i], what);
    });
    assert.deepEqual(lines.slice(5), ["ok x", `FAIL ${none}: holds no .json file`, "1 passed, 6 failed"]);
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
