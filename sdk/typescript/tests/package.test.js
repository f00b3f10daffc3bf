// The package, packed and installed into a clean folder: CommonJS, ES modules, and types.
"use strict";
const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { withFolder } = require("./support/environment.js");

const here = path.join(__dirname, "..");
// Nothing of the tree may be found by the installed package.
const { PAWL_LIBRARY: _library, LD_LIBRARY_PATH: _path, NODE_PATH: _modules, ...env } = process.env;
const call = (file, args, cwd) => execFileSync(file, args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

const HELLO = `
async function hello(ctx, name) {
  return ctx.run("greet", () => "Hello, " + name);
}
async function main() {
  const engine = await Engine.open("sqlite:hello.db", { workflows: { hello } });
  const run = await engine.start(hello, { input: "package" });
  console.log(await run.result());
  await engine.close();
  const env = await TestEnvironment.open({ workflows: { hello } });
  console.log(env instanceof Engine);
  await env.close();
}
main();
`;

test("npm pack gives what can be installed and used", { timeout: 120_000 }, () =>
  withFolder((folder) => {
    call("npm", ["pack", "--silent", "--pack-destination", folder], here);
    const [tarball] = fs.readdirSync(folder).filter((name) => name.endsWith(".tgz"));
    const names = call("tar", ["tzf", path.join(folder, tarball)], folder).trim().split("\n");
    for (const name of ["lib/pawl.node", "lib/libpawl.so.1", "dist/cjs/index.d.ts", "dist/esm/index.mjs", "README.md"]) {
      assert.ok(names.includes(`package/${name}`), name);
    }
    assert.ok(!names.some((name) => /tests|src\/|node_modules/.test(name)), names.join(" "));

    const project = path.join(folder, "project");
    fs.mkdirSync(project);
    fs.writeFileSync(path.join(project, "package.json"), '{ "private": true }');
    call("npm", ["install", "--silent", "--offline", "--no-audit", path.join(folder, tarball)], project);
    fs.writeFileSync(
      path.join(project, "a.cjs"),
      `const { Engine } = require("pawl");\nconst { TestEnvironment } = require("pawl/testing");\n${HELLO}`,
    );
    fs.writeFileSync(
      path.join(project, "b.mjs"),
      `import { Engine } from "pawl";\nimport { TestEnvironment } from "pawl/testing";\n${HELLO}`,
    );
    assert.equal(call(process.execPath, ["a.cjs"], project), "Hello, package\ntrue\n");
    assert.equal(call(process.execPath, ["b.mjs"], project), "Hello, package\ntrue\n");

    // One copy of the classes, whichever way it is imported.
    fs.writeFileSync(
      path.join(project, "c.mjs"),
      `import { createRequire } from "node:module";\nimport { Engine } from "pawl";\n` +
        `console.log(createRequire(import.meta.url)("pawl").Engine === Engine);\n`,
    );
    assert.equal(call(process.execPath, ["c.mjs"], project), "true\n");

    // Types, as both kinds of modules see them.
    fs.copyFileSync(path.join(__dirname, "types.ts"), path.join(project, "types.mts"));
    fs.copyFileSync(path.join(__dirname, "types.ts"), path.join(project, "types.cts"));
    fs.symlinkSync(path.join(here, "node_modules", "@types"), path.join(project, "node_modules", "@types"));
    fs.symlinkSync(path.join(here, "node_modules", "undici-types"), path.join(project, "node_modules", "undici-types"));
    const tsc = path.join(here, "node_modules", "typescript", "bin", "tsc");
    const options = ["--noEmit", "--strict", "--target", "es2022", "--types", "node", "--skipLibCheck", "false"];
    fs.copyFileSync(path.join(__dirname, "types.ts"), path.join(project, "types.ts"));
    for (const resolution of [
      ["--module", "nodenext", "types.mts", "types.cts"],
      ["--module", "commonjs", "--moduleResolution", "node10", "types.ts"],
      ["--module", "esnext", "--moduleResolution", "bundler", "types.ts"],
    ]) {
      try {
        call(process.execPath, [tsc, ...options, ...resolution], project);
      } catch (error) {
        assert.fail(`${resolution.join(" ")}: ${error.stdout}`);
      }
    }
  }));
