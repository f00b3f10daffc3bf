// What an expectation and an actual outcome differ in.
"use strict";
const { equal } = require("./interpreter.js");

function shown(value) {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

/** Locations may be written with or without blanks. */
function normal(location) {
  return typeof location === "string" ? location.replaceAll(" ", "") : location;
}

function compare(expect, actual) {
  const differences = [];
  const expectEqual = (path, expected, got) => {
    if (got === undefined || !equal(expected, got)) {
      differences.push(`${path}: expected ${shown(expected)}, got ${shown(got)}`);
    }
  };
  expectEqual("outcome", expect.outcome, actual.outcome);
  if (expect.outcome !== actual.outcome && actual.error !== undefined) {
    differences.push(`error: ${actual.error.message.split("\n")[0]}`);
  }
  if ("result" in expect) {
    expectEqual("result", expect.result, actual.result);
  }
  if ("error" in expect) {
    if (actual.error === undefined) {
      differences.push("error: expected one, got none");
    } else {
      for (const text of expect.error.contains ?? []) {
        if (!actual.error.message.includes(text)) {
          differences.push(`error: ${shown(text)} does not occur in ${shown(actual.error.message)}`);
        }
      }
      if ("location" in expect.error) {
        expectEqual("error.location", normal(expect.error.location), normal(actual.error.location));
      }
      if ("code" in expect.error) {
        expectEqual("error.code", expect.error.code, actual.error.code);
      }
    }
  }
  if ("new" in expect) {
    expect.new.slice(0, actual.new.length).forEach((entry, i) => {
      for (const [key, value] of Object.entries(entry)) {
        const isLocation = key === "location" || key === "loop";
        const got = actual.new[i][key];
        expectEqual(`new[${i}].${key}`, isLocation ? normal(value) : value, isLocation ? normal(got) : got);
      }
    });
    if (expect.new.length !== actual.new.length) {
      const events = actual.new.map(({ event, location }) => (location ? `${event} ${location}` : event));
      differences.push(`new: expected ${expect.new.length} entries, got ${actual.new.length} (${events.join(", ")})`);
    }
  }
  for (const [name, value] of Object.entries(expect.values ?? {})) {
    expectEqual(`values.${name}`, value, actual.values[name]);
  }
  for (const key of ["waiting", "orphaned"]) {
    if (key in expect) {
      expectEqual(key, expect[key].map(normal), actual[key].map(normal));
    }
  }
  return differences;
}

module.exports = { compare };
