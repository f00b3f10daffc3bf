// Engines for tests, closed whatever happens.
"use strict";
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { Engine } = require("../../dist/cjs/index.js");
const { TestEnvironment } = require("../../dist/cjs/testing.js");

async function withEnvironment(options, body) {
  const env = await TestEnvironment.open(options);
  try {
    return await body(env);
  } finally {
    await env.close();
  }
}

async function withFolder(body) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "pawl-test-"));
  try {
    return await body(folder);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** `body(engine, url)`, on a SQLite file. */
function withEngine(options, body) {
  return withFolder(async (folder) => {
    const url = `sqlite:${path.join(folder, "test.db")}`;
    const engine = await Engine.open(url, options);
    try {
      return await body(engine, url);
    } finally {
      await engine.close();
    }
  });
}

module.exports = { withEngine, withEnvironment, withFolder };
