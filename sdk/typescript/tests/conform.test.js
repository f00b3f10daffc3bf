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
