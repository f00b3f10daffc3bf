#!/usr/bin/env node
// Runs scenarios through the public API of workflows: conform.js FILE|DIR…
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { compare } = require("./support/compare.js");
const { runScenario } = require("./support/interpreter.js");

const totals = { passed: 0, failed: 0 };
const oneLine = (text) => text.replaceAll("\n", "; ").replace(/[\x00-\x1f\x7f]/g, "");

function fail(name, what) {
  totals.failed += 1;
  console.log(`FAIL ${oneLine(name)}: ${oneLine(what)}`);
}

function filesIn(place) {
  if (!fs.statSync(place).isDirectory()) {
    return [place];
  }
  return fs
    .readdirSync(place, { recursive: true })
    .filter((name) => name.endsWith(".json"))
    .map((name) => path.join(place, name))
    .sort();
}

async function runOne(place, scenario) {
  const name = scenario?.name || place;
  if (typeof scenario?.name !== "string" || !Array.isArray(scenario.program) || scenario.expect === undefined) {
    return fail(name, `${place}: a scenario needs name, program and expect`);
  }
  try {
    const differences = compare(scenario.expect, await runScenario(scenario));
    if (differences.length > 0) {
      return fail(name, differences.join("; "));
    }
    totals.passed += 1;
    return console.log(`ok ${oneLine(name)}`);
  } catch (error) {
    return fail(name, `${place}: ${process.env.PAWL_STACK ? error.stack : error.message}`);
  }
}

async function main(places) {
  if (places.length === 0) {
    console.error("usage: conform.js FILE|DIR…");
    process.exit(2);
  }
  for (const place of places) {
    let files = [];
    try {
      files = filesIn(place);
    } catch (error) {
      fail(place, error.message);
    }
    for (const file of files) {
      let content;
      try {
        content = JSON.parse(fs.readFileSync(file, "utf8"));
      } catch (error) {
        fail(file, error.message);
        continue;
      }
      const isList = Array.isArray(content);
      for (const [i, scenario] of (isList ? content : [content]).entries()) {
        await runOne(isList ? `${file}[${i}]` : file, scenario);
      }
    }
  }
  console.log(`${totals.passed} passed, ${totals.failed} failed`);
  process.exitCode = totals.failed === 0 ? 0 : 1;
}

void main(process.argv.slice(2));
