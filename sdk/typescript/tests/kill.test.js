// A process is killed in the middle of its runs, again and again: every run ends with the right
// answer, and no step that was recorded is executed again.
"use strict";
const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const { once } = require("node:events");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { Engine } = require("../dist/cjs/index.js");
const { withFolder } = require("./support/environment.js");

const RUNS = 20;
const KILLS = 5;
const seed = Number(process.env.PAWL_SEED ?? Date.now() % 100_000);

function randomFrom(state) {
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function linesOf(file) {
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

/** The steps that the store holds an outcome of: "run-3 step 7". */
async function recordedSteps(url) {
  const engine = await Engine.open(url);
  try {
    const steps = [];
    for (let i = 0; i < RUNS; ++i) {
      const run = engine.get(`run-${i}`);
      const history = (await run.exists()) ? await run.history() : [];
      for (const { event, operationName } of history) {
        if (event === "OperationCompleted") {
          steps.push(`${run.id} ${operationName}`);
        }
      }
    }
    return steps;
  } finally {
    await engine.close();
  }
}

test(`a killed process is taken over (seed ${seed})`, { timeout: 120_000 }, () =>
  withFolder(async (folder) => {
    const random = randomFrom(seed);
    const url = `sqlite:${path.join(folder, "kill.db")}`;
    const file = path.join(folder, "steps");
    const host = path.join(__dirname, "support", "kill_host.js");
    const begin = () => spawn(process.execPath, [host, url, file, String(RUNS)], { stdio: ["ignore", "pipe", "inherit"] });

    let killedInTheMiddle = 0;
    for (let i = 0; i < KILLS; ++i) {
      const child = begin();
      // After some more steps, however fast the machine is.
      const enough = linesOf(file).length + 1 + Math.floor(random() * 30);
      while (child.exitCode === null && linesOf(file).length < enough) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      child.kill("SIGKILL");
      await once(child, "close");
      const recorded = await recordedSteps(url);
      killedInTheMiddle += recorded.length > 0 && recorded.length < RUNS * 12 ? 1 : 0;
      fs.writeFileSync(`${file}.${i}`, recorded.join("\n"));
      const before = linesOf(file).length;
      fs.appendFileSync(file, `-- killed at ${before}\n`);
    }
    assert.ok(killedInTheMiddle > 0, "no kill has hit a run in the middle");

    const last = begin();
    let output = "";
    last.stdout.on("data", (data) => (output += data));
    const [code] = await once(last, "close");
    assert.equal(code, 0);
    const results = JSON.parse(output.trim().split("\n").at(-1));
    assert.deepEqual(results, Array.from({ length: RUNS }, (_, factor) => 66 * factor + 3));

    // What was recorded at a kill does not occur after it.
    const lines = linesOf(file);
    let kill = 0;
    for (const [at, line] of lines.entries()) {
      if (line.startsWith("-- killed")) {
        const after = new Set(lines.slice(at + 1));
        const recorded = fs.readFileSync(`${file}.${kill}`, "utf8").split("\n").filter(Boolean);
        assert.deepEqual(recorded.filter((step) => after.has(step)), []);
        kill += 1;
      }
    }
    assert.equal(kill, KILLS);
  }),
);
