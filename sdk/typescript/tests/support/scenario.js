// What a file of scenarios may hold, see docs/formats/scenario.md. All else is a mistake, whose message names the place.
"use strict";
const fs = require("node:fs");

/** A mistake in the scenario itself. */
class Mistake extends Error {}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
/** {"$": "x"} */
const isVariable = (value) => isObject(value) && typeof value.$ === "string" && Object.keys(value).length === 1;

function described(value) {
  if (value !== null && typeof value === "object") {
    return Array.isArray(value) ? "a list" : "an object";
  }
  return (typeof value === "string" ? "the text " : "") + JSON.stringify(value).slice(0, 60);
}

function ensure(holds, expected, value, place) {
  if (!holds) {
    throw new Mistake(`${place}: expected ${expected}, got ${described(value)}`);
  }
}

// --- Types of values: functions that take a value and its place -----------------------------------------------------

const any = () => {};
const text = (value, place) => ensure(typeof value === "string", "a text", value, place);
const isTrue = (value, place) => ensure(value === true, "true", value, place);
const orVariable = (check) => (value, place) => isVariable(value) || check(value, place);

function name(value, place) {
  text(value, place);
  if (value === "") {
    throw new Mistake(`${place}: must not be empty`);
  }
}

function whole(low, high) {
  const expected = `a whole number from ${low} to ${high}`;
  return (value, place) => ensure(Number.isInteger(value) && value >= low && value <= high, expected, value, place);
}

function oneOf(...words) {
  return (value, place) => ensure(words.includes(value), `one of ${words.join(", ")}`, value, place);
}

function listOf(check, least = 0) {
  return (value, place) => {
    ensure(Array.isArray(value), "a list", value, place);
    if (value.length < least) {
      throw new Mistake(`${place}: must not be empty`);
    }
    value.forEach((each, i) => check(each, `${place}[${i}]`));
  };
}

/**
 * Fields whose name ends in ? may be left out. In an object that is open, unknown ones are for people, unless they look
 * like a misspelt one.
 */
function objectOf(fields, { isOpen = false } = {}) {
  const known = new Map(Object.entries(fields).map(([field, check]) => [field.replace("?", ""), check]));
  const required = Object.keys(fields).filter((field) => !field.endsWith("?"));
  return (value, place) => {
    ensure(isObject(value), "an object", value, place || "scenario");
    const at = (field) => (place ? `${place}.${field}` : field);
    for (const [field, each] of Object.entries(value)) {
      if (known.has(field)) {
        known.get(field)(each, at(field));
        continue;
      }
      const meant = [...known.keys()].find((other) => slips(field, other) <= (other.length < 5 ? 1 : 2));
      if (meant !== undefined || !isOpen) {
        throw new Mistake(`${at(field)}: there is no such field${meant === undefined ? "" : `; is it '${meant}'?`}`);
      }
    }
    for (const field of required) {
      if (!Object.hasOwn(value, field)) {
        throw new Mistake(`${at(field)}: missing`);
      }
    }
  };
}

/** How many letters have to be put in, taken out or changed; about, if they are many. */
function slips(a, b) {
  if (Math.abs(a.length - b.length) > 2) {
    return 3;
  }
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 0; i < a.length; ++i) {
    const next = [i + 1];
    for (let j = 0; j < b.length; ++j) {
      next.push(Math.min(next[j] + 1, row[j + 1] + 1, row[j] + (a[i] === b[j] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length];
}

function step(value, place) {
  ensure(isObject(value), "an object", value, place);
  const [verb] = Object.keys(value);
  if (verb === undefined) {
    throw new Mistake(`${place}: a step needs a verb as its first key`);
  }
  if (!STEPS.has(verb)) {
    throw new Mistake(`${place}: there is no step '${verb}' (the first key of a step is its verb)`);
  }
  STEPS.get(verb)(value, place);
  if (verb === "run" && "returns" in value && "throws" in value) {
    throw new Mistake(`${place}.throws: a run either returns or throws`);
  }
}

// --- What there is --------------------------------------------------------------------------------------------------

const NUMBER_MAX = 2n ** 61n - 1n;
const duration = whole(0n, NUMBER_MAX);
const version = whole(1n, 2n ** 32n - 1n);
const steps = listOf(step);
const key = { "stepKey?": name };
const input = { "input?": any, ...key };
const kinds = oneOf(
  "task", "operation", "timer", "promise", "child", "state", "signal", "branch", "loop", "version_check",
  "compensation", "cancel_task", "cancel_timer",
);

// Of what type the value of each verb is, and which other fields it has.
const VERBS = {
  task: [name, input],
  run: [name, { "returns?": any, "throws?": orVariable(name), ...input }],
  timer: [duration, { "id?": name, ...key }],
  promise: [name, { "timeout?": duration, ...key }],
  child: [name, { kind: name, ...input }],
  signal: [name, { "timeout?": duration, ...key }],
  await: [name],
  await_all: [listOf(text)],
  await_any: [listOf(text, 1)],
  cancel: [name],
  set: [name, { value: any, ...key }],
  clear: [name, key],
  get: [name],
  has_signal: [name],
  drain: [name],
  now: [isTrue],
  uuid: [isTrue],
  random: [isTrue],
  cancelled: [isTrue],
  branch: [steps, key],
  join: [listOf(steps)],
  loop: [steps, { times: orVariable(duration), "checkpointEvery?": version, ...key }],
  v: [version, { do: step }],
  removed: [kinds, { "name?": name, ...key }],
  check_version: [version],
  compensate: [name, input],
  if: [name, { equals: any, then: steps, "else?": steps }],
  try: [steps, { catch: steps }],
  shield: [steps],
  return: [any],
  throw: [orVariable(name)],
  recur: [any],
};
const checkOf = (verb, [subject, fields]) => objectOf({ [verb]: subject, ...fields, "as?": name });
const STEPS = new Map(Object.entries(VERBS).map(([verb, parts]) => [verb, checkOf(verb, parts)]));

const SCENARIO = objectOf(
  {
    name,
    "matching?": oneOf("strict", "per_kind", "by_name"),
    "run?": objectOf(
      { "id?": name, "kind?": text, "input?": any, "startedAt?": whole(-NUMBER_MAX, NUMBER_MAX) },
      { isOpen: true },
    ),
    "history?": listOf(any), // The core looks at its entries.
    program: steps,
    expect: objectOf({
      outcome: oneOf("completed", "failed", "cancelled", "recurred", "suspended", "violation"),
      "result?": any,
      "error?": objectOf({ "contains?": listOf(text), "location?": text, "code?": text }),
      "new?": listOf(objectOf({}, { isOpen: true })),
      "values?": objectOf({}, { isOpen: true }),
      "waiting?": listOf(text),
      "orphaned?": listOf(text),
    }),
  },
  { isOpen: true },
);

/** Throws a Mistake if it is none. */
function checkScenario(value) {
  SCENARIO(value, "");
}

const DEPTH_MAX = 2000; // What can be walked through by recursion.

/** Refuses what JSON.parse lets through. */
function checkJson(value, depth) {
  if (typeof value === "string" && !value.isWellFormed()) {
    throw new Mistake("a text holds half a surrogate pair");
  }
  if (depth > DEPTH_MAX) {
    throw new Mistake(`nested more than ${DEPTH_MAX} deep`);
  }
  if (value !== null && typeof value === "object") {
    for (const [field, each] of Object.entries(value)) {
      checkJson(field, depth);
      checkJson(each, depth + 1);
    }
  }
}

/** The scenarios in a file, each with its place. */
function readScenarios(file) {
  const content = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(fs.readFileSync(file)));
  checkJson(content, 0);
  if (!Array.isArray(content)) {
    return [[file, content]];
  }
  if (content.length === 0) {
    throw new Mistake("holds no scenario");
  }
  return content.map((scenario, i) => [`${file}[${i}]`, scenario]);
}

module.exports = { Mistake, checkScenario, isVariable, readScenarios };
