// Runs the program of a scenario as a workflow, through the public API. See docs/formats/scenario.md.
"use strict";
const { breakWith, continueWith, Cancelled, DeterminismViolation, Recurred } = require("../../dist/cjs/index.js");
const { replay } = require("../../dist/cjs/testing.js");
const { Mistake, isVariable } = require("./scenario.js");

const STEPS_MAX = 1_000_000; // More than a sensible scenario takes, iterations counted as well.
const NEXT = { kind: "next" };

/** A shield is for the awaits in it, not for the futures that are made there. */
function awaiting({ ctx, isShielded }) {
  return isShielded ? ctx.shielded() : ctx;
}

class Interpreter {
  variables = new Map();
  stepsTaken = 0;
  mistake;

  // A scope: the context, the same with the version of this one step, and whether it is in a loop or a shield.
  async runList(steps, scope, path) {
    for (const [i, step] of steps.entries()) {
      const flow = await this.runStep(step, scope, `${path}[${i}]`);
      if (flow.kind !== "next") {
        return flow;
      }
    }
    return NEXT;
  }

  async runStep(step, scope, path) {
    this.count(path);
    const verb = Object.keys(step)[0];
    const subject = step[verb];
    const inner = { ...scope, at: scope.ctx };
    switch (verb) {
      case "await":
        return this.awaitAll(step, [subject], scope, path);
      case "await_all":
        return this.awaitAll(step, subject, scope, path);
      case "await_any":
        return this.awaitAny(step, subject, scope, path);
      case "branch": {
        const body = (ctx) => this.runBody(subject, { ...scope, ctx, at: ctx }, `${path}.branch`);
        this.assign(step, await scope.at.branch(body, { stepKey: step.stepKey }));
        return NEXT;
      }
      case "join": {
        const bodies = subject.map(
          (arm, i) => (ctx) => this.runBody(arm, { ...scope, ctx, at: ctx }, `${path}.join[${i}]`),
        );
        this.assign(step, await scope.at.join(bodies));
        return NEXT;
      }
      case "loop":
        return this.runLoop(step, subject, scope, path);
      case "v":
        return this.runStep(step.do, { ...scope, at: scope.ctx.v(subject) }, `${path}.do`);
      case "if": {
        const holds = equal(this.find(subject, path).value, this.resolve(step.equals, path));
        const part = holds ? "then" : "else";
        return step[part] === undefined ? NEXT : this.runList(step[part], inner, `${path}.${part}`);
      }
      case "try":
        try {
          return await this.runList(subject, inner, `${path}.try`);
        } catch (error) {
          if (error instanceof DeterminismViolation || error instanceof Recurred || error instanceof Mistake) {
            throw error;
          }
          this.variables.set("error", { value: textOf(error) });
          return this.runList(step.catch, inner, `${path}.catch`);
        }
      case "shield":
        return this.runList(subject, { ...inner, isShielded: true }, `${path}.shield`);
      case "return":
        return { kind: "return", value: this.resolve(subject, path) };
      case "recur":
        return scope.at.recur(this.resolve(subject, path));
      case "throw":
        throw errorText(this.resolve(subject, path));
      default:
        this.runCommand(verb, step, subject, scope.at, path);
        return NEXT;
    }
  }

  async runBody(steps, scope, path) {
    const flow = await this.runList(steps, scope, path);
    return flow.kind === "return" ? flow.value : null;
  }

  async awaitAll(_step, names, scope, path) {
    const variables = names.map((name) => this.find(name, path));
    const futures = variables.filter((each) => each.future).map((each) => each.future);
    const seen = () => {
      for (const variable of variables) {
        if (variable.future?.isComplete) {
          try {
            variable.value = variable.future.value();
          } catch {
            // It failed: it has no value.
          }
        }
      }
    };
    try {
      await awaiting(scope).all(futures);
    } catch (error) {
      if (!(error instanceof Cancelled) && !(error instanceof DeterminismViolation)) {
        seen();
      }
      throw error;
    }
    seen();
    for (const variable of variables) {
      variable.value ??= null;
    }
    return NEXT;
  }

  async awaitAny(step, names, scope, path) {
    const variables = names.map((name) => this.find(name, path));
    const plain = variables.findIndex((each) => !each.future);
    if (plain >= 0) {
      this.assign(step, names[plain]);
      return NEXT;
    }
    const index = await awaiting(scope).first(variables.map((each) => each.future));
    const winner = variables[index];
    this.assign(step, names[index]);
    winner.value = winner.future.value() ?? null;
    return NEXT;
  }

  async runLoop(step, steps, scope, path) {
    const times = this.resolve(step.times, path);
    if (!Number.isInteger(times) || times < 0) {
      this.refuse(`${path}.times`, `expected a whole number from 0, got ${JSON.stringify(times)}`);
    }
    const outer = scope.isInLoop ? this.variables.get("i") : undefined;
    const result = await scope.at.loop(
      0,
      async (ctx, finished) => {
        this.count(path);
        this.variables.set("i", { value: finished + 1 });
        const flow = await this.runList(steps, { ...scope, ctx, at: ctx, isInLoop: true }, `${path}.loop`);
        return flow.kind === "return" ? breakWith(flow.value, finished + 1) : continueWith(finished + 1);
      },
      { while: (finished) => finished < times, checkpointEvery: step.checkpointEvery, stepKey: step.stepKey },
    );
    if (scope.isInLoop) {
      this.variables.set("i", outer ?? { value: null });
    }
    this.assign(step, result);
    return NEXT;
  }

  runCommand(verb, step, subject, ctx, path) {
    const { stepKey, timeout } = step;
    const given = (field) => (field in step ? this.resolve(step[field], `${path}.${field}`) : undefined);
    const name = (future) => step.as !== undefined && this.variables.set(step.as, { value: null, future });
    switch (verb) {
      case "task":
        return name(ctx.schedule(subject, given("input"), { stepKey }));
      case "run": {
        const body = () => {
          if ("throws" in step) {
            throw given("throws");
          }
          return given("returns") ?? null;
        };
        return name(ctx.run(subject, body, { args: "input" in step ? [given("input")] : undefined, stepKey }));
      }
      case "timer":
        return name(ctx.sleep(subject, { id: step.id, stepKey }));
      case "promise":
        return name(ctx.promise(subject, { timeout, stepKey }));
      case "signal":
        return name(ctx.signal(subject, { timeout, stepKey }));
      case "child":
        return name(ctx.child(step.kind, subject, given("input"), { stepKey }));
      case "cancel": {
        const { future } = this.find(subject, path);
        return future && ctx.cancel(future);
      }
      case "set":
        return ctx.set(subject, given("value"), { stepKey });
      case "clear":
        return ctx.clear(subject, { stepKey });
      case "compensate":
        return ctx.compensate(subject, given("input"), { stepKey });
      case "removed":
        return ctx.removed(subject, step.name, { stepKey });
      case "check_version":
        return this.assign(step, ctx.checkVersion(subject));
      case "get":
        return this.assign(step, ctx.get(subject) ?? null);
      case "has_signal":
        return this.assign(step, ctx.hasSignal(subject));
      case "drain": {
        const taken = [];
        for (let next = ctx.trySignal(subject); next !== undefined; next = ctx.trySignal(subject)) {
          taken.push(next.value);
        }
        return this.assign(step, taken);
      }
      case "now":
        return this.assign(step, ctx.now());
      case "uuid":
        return this.assign(step, ctx.uuid());
      case "random":
        return this.assign(step, ctx.random());
      case "cancelled":
        return this.assign(step, ctx.cancelled);
    }
  }

  assign(step, value) {
    if (step.as !== undefined) {
      this.variables.set(step.as, { value });
    }
  }
  find(name, path) {
    const variable = this.variables.get(name);
    if (variable === undefined) {
      this.refuse(path, `variable '${name}' is not set`);
    }
    return variable;
  }
  resolve(value, path) {
    if (Array.isArray(value)) {
      return value.map((each) => this.resolve(each, path));
    }
    if (value === null || typeof value !== "object") {
      return value;
    }
    if (isVariable(value)) {
      return this.find(value.$, path).value ?? null;
    }
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.resolve(each, path)]));
  }

  count(path) {
    if (++this.stepsTaken > STEPS_MAX) {
      this.refuse(path, `the program runs for more than ${STEPS_MAX} steps`);
    }
  }
  /** Also where nobody sees what is thrown, as in an arm of a join that does not end. */
  refuse(path, what) {
    this.mistake = new Mistake(`${path}: ${what}`);
    throw this.mistake;
  }
}

function errorText(error) {
  if (typeof error === "string") {
    return error;
  }
  return typeof error?.message === "string" ? error.message : JSON.stringify(error);
}
function textOf(error) {
  return error instanceof Error ? error.message : errorText(error);
}

/** As JSON has it. */
function equal(a, b) {
  if (a === b) {
    return true;
  }
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object" || Array.isArray(a) !== Array.isArray(b)) {
    return false;
  }
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
}

/** The actual outcome, in the form of `expect`. */
async function runScenario(scenario) {
  const interpreter = new Interpreter();
  const program = async (ctx) => {
    try {
      return await interpreter.runBody(scenario.program, { ctx, at: ctx, isInLoop: false, isShielded: false }, "program");
    } catch (error) {
      // Recorded as a text, as scenarios have it.
      throw error instanceof Cancelled || error instanceof Recurred || error instanceof DeterminismViolation
        ? error
        : textOf(error);
    }
  };
  const replayed = await replay(program, {
    history: scenario.history,
    uuid: scenario.run?.id,
    kind: scenario.run?.kind,
    startedAt: scenario.run?.startedAt,
    matching: scenario.matching,
  });
  if (interpreter.mistake !== undefined) {
    throw interpreter.mistake;
  }
  const actual = {
    outcome: replayed.outcome,
    new: replayed.added,
    waiting: replayed.waiting,
    orphaned: replayed.orphaned,
    values: Object.fromEntries([...interpreter.variables].map(([name, { value }]) => [name, value ?? null])),
  };
  if (replayed.violation !== undefined) {
    const { text, code, location } = replayed.violation;
    actual.error = { message: text, code, location };
  } else if (replayed.outcome === "failed" || replayed.outcome === "cancelled") {
    actual.error = { message: textOf(replayed.error) };
  } else if (replayed.outcome === "completed") {
    actual.result = replayed.result;
  }
  return actual;
}

module.exports = { runScenario, equal };
