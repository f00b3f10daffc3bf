// The addon: handles that are freed or foreign are refused, whatever is passed to it.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { UsageError } = require("../dist/cjs/index.js");
const { native, C } = require("../dist/cjs/native.js");

test("freed, foreign and senseless handles are refused", () => {
  const context = native.create(undefined, C.STRICT, 0, "[]", undefined, undefined);
  assert.equal(native.now(context), 0);
  native.free(context);
  for (const handle of [context, 0n, 5n, 2n ** 64n - 1n, 2n ** 70n, -1n, 7, "x", undefined, null, {}]) {
    assert.throws(() => native.now(handle), UsageError);
    assert.throws(() => native.free(handle), UsageError);
    assert.throws(() => native.engineStart(handle), UsageError);
  }
});

test("any arguments of any call end in an error or in an answer, never in a crash", () => {
  const values = [undefined, null, 0, -1, 1.5, NaN, 2 ** 60, "", "text", "\ud800", [], {}, true, 0n, 7n, Symbol("s"), () => {}];
  const skipped = new Set(["constants", "registers", "setErrors", "engineStop", "poll", "engineOpen"]);
  let calls = 0;
  for (const [name, call] of Object.entries(native)) {
    if (skipped.has(name)) {
      continue;
    }
    for (let i = 0; i < 200; ++i) {
      const context = i % 2 === 0 ? native.create(undefined, 0, 0, "[]", undefined, undefined) : 1n;
      const rest = Array.from({ length: 14 }, (_, k) => values[(i * 7 + k * 5 + ((i * k) % 11)) % values.length]);
      try {
        call(context, ...rest);
      } catch (error) {
        assert.ok(error instanceof Error);
      }
      try {
        native.free(context);
      } catch {
        // It was freed, or never was one.
      }
      calls += 1;
    }
  }
  assert.ok(calls > 5000);
});

test("every number of pawl.h that has a name is exported under it", () => {
  const header = path.join(__dirname, "..", "..", "..", "include", "pawl.h");
  const names = [...fs.readFileSync(header, "utf8").matchAll(/\bPAWL_([A-Z_]+) = (\d+)/g)];
  assert.ok(names.length > 60);
  for (const [, name, value] of names) {
    assert.equal(C[name], Number(value), name);
  }
});
