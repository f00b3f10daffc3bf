// The examples, as a user runs them.
"use strict";
const assert = require("node:assert/strict");
const { spawn, spawnSync } = require("node:child_process");
const { once } = require("node:events");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { withFolder } = require("./support/environment.js");

const example = (name) => path.join(__dirname, "..", "examples", `${name}.mjs`);
const limit = { timeout: 60_000 };

function start(name, args, env = {}) {
  const child = spawn(process.execPath, [example(name), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  child.output = "";
  child.stdout.on("data", (data) => (child.output += data));
  child.until = async (pattern) => {
    while (!pattern.test(child.output)) {
      await Promise.race([once(child.stdout, "data"), once(child, "close").then(() => assert.fail(child.output))]);
    }
    return pattern.exec(child.output);
  };
  return child;
}
const run = (name, args, env) => {
  const { stdout, status, stderr } = spawnSync(process.execPath, [example(name), ...args], {
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  assert.equal(status, 0, stderr);
  return stdout;
};

test("hello goes on where it was killed", limit, () =>
  withFolder(async (folder) => {
    const url = `sqlite:${path.join(folder, "hello.db")}`;
    const first = start("hello", [url]);
    await first.until(/4\n/);
    first.kill("SIGKILL");
    await once(first, "close");
    const second = run("hello", [url]);
    assert.ok(!second.includes("5\n"), second);
    assert.match(second, /2\n1\nlift-off\n$/);
    assert.equal(run("hello", [url]), "lift-off\n");
  }));

test("order-saga undoes what was done", limit, () =>
  withFolder((folder) => {
    const url = `sqlite:${path.join(folder, "orders.db")}`;
    assert.equal(
      run("order-saga", [url]),
      [
        "order-1:",
        "  reserve: lamp",
        "  charge: 1999 cents",
        "  ship: lamp",
        "  done: parcel with a lamp",
        "order-2:",
        "  reserve: yacht",
        "  release: shelf of order-2",
        "  undone: Declined: the card's limit is 5000.00",
        "order-3:",
        "  reserve: piano",
        "  charge: 499900 cents",
        "  refund: the bank is busy",
        "  refund: payment of order-3",
        "  release: shelf of order-3",
        "  undone: TooHeavy: no carrier takes a piano",
        "",
      ].join("\n"),
    );
  }));

test("approval takes answers from other processes", limit, () =>
  withFolder(async (folder) => {
    const env = { PAWL_STORE: `sqlite:${path.join(folder, "approval.db")}` };
    const manager = start("approval", ["start", "lunch", "1999", "3600"], env);
    await manager.until(/mail to the manager/);
    run("approval", ["approve", "lunch", "Ada"], env);
    await once(manager, "close");
    assert.match(manager.output, /approved by Ada\n$/);
    assert.equal(run("approval", ["status", "lunch"], env), "completed\n");

    const director = start("approval", ["start", "yacht", "9900000", "0.05"], env);
    const [, token] = await director.until(/approval answer (\S+) yes/);
    run("approval", ["answer", token, "no"], env);
    await once(director, "close");
    assert.match(director.output, /rejected by the director\n$/);
  }));

test("the first workflow of the README runs as it stands there", limit, () =>
  withFolder((folder) => {
    const readme = fs.readFileSync(path.join(__dirname, "..", "README.md"), "utf8");
    const [, code] = /```js\n([\s\S]*?)```/.exec(readme);
    assert.ok(code.trim().split("\n").length < 20);
    const file = path.join(__dirname, "..", "examples", `.readme-${process.pid}.mjs`);
    fs.writeFileSync(file, code);
    try {
      const { stdout, status, stderr } = spawnSync(process.execPath, [file], { encoding: "utf8", cwd: folder });
      assert.equal(status, 0, stderr);
      assert.match(stdout, /Hello, World/);
    } finally {
      fs.rmSync(file);
    }
  }));
