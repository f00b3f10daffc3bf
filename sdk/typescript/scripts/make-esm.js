// Writes dist/esm: modules that give out what the CommonJS ones hold. One copy of the code for both
// kinds of import, so that an error thrown by one is an instance of the class seen by the other.
"use strict";
const fs = require("node:fs");
const path = require("node:path");

const dist = path.join(__dirname, "..", "dist");
fs.mkdirSync(path.join(dist, "esm"), { recursive: true });
for (const name of ["index", "testing"]) {
  const names = Object.keys(require(path.join(dist, "cjs", `${name}.js`))).sort();
  const lines = [
    `import module from "../cjs/${name}.js";`,
    `export const {\n${names.map((each) => `  ${each},\n`).join("")}} = module;`,
    "",
  ];
  fs.writeFileSync(path.join(dist, "esm", `${name}.mjs`), lines.join("\n"));
  fs.writeFileSync(path.join(dist, "esm", `${name}.d.mts`), `export * from "../cjs/${name}.js";\n`);
}
fs.writeFileSync(path.join(dist, "cjs", "package.json"), '{ "type": "commonjs" }\n');
