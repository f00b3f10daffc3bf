#!/usr/bin/env node
// Runs scenarios through the public API of workflows: conform.js FILE|DIR…
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { compare } = require("./support/compare.js");
const { runScenario } = require("./support/interpreter.js");
const { checkScenario, readScenarios } = require("./support/scenario.js");

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
  const files = fs
    .readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((each) => each.name.endsWith(".json") && !each.isDirectory())
    .map((each) => path.join(each.parentPath ?? each.path, each.name))
    .sort();
  if (files.length === 0) {
    throw new Error("holds no .json file");
  }
  return files;
}

async function runOne(place, scenario) {
  const name = typeof scenario?.name === "string" && scenario.name !== "" ? scenario.name : place;
  try {
    checkScenario(scenario);
    const differences = compare(scenario.expect, await runScenario(scenario));
    if (differences.length > 0) {
      return fail(name, differences.join("; "));
    }
    totals.passed += 1;
    return console.log(`ok ${oneLine(name)}`);
  } catch (error) {
    const what = process.env.PAWL_STACK ? error.stack : error.message;
    return fail(name, name === place ? what : `${place}: ${what}`);
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
      let scenarios = [];
      try {
        scenarios = readScenarios(file);
      } catch (error) {
        fail(file, error.message);
      }
      for (const [where, scenario] of scenarios) {
        await runOne(where, scenario);
      }
    }
  }
  console.log(`${totals.passed} passed, ${totals.failed} failed`);
  process.exitCode = totals.failed === 0 ? 0 : 1;
}

void main(process.argv.slice(2));
