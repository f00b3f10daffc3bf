// What callers give, checked where it comes in: who is not checked by a compiler gets a sentence that
// names the call, the culprit, and what is expected.
import { UsageError } from "./errors";

/** 5, "text", undefined, a function, an object of type Promise */
export function shown(value: unknown): string {
  if (typeof value === "function") {
    return "a function";
  }
  if (typeof value === "object" && value !== null) {
    const tag = Object.prototype.toString.call(value).slice("[object ".length, -1);
    return tag === "Object" ? "an object" : tag === "Array" ? "a list" : `an object of type ${tag}`;
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** `what`: "the name" */
export function checkText(value: unknown, call: string, what: string): void {
  if (typeof value !== "string") {
    throw new UsageError(`${call}: ${what} is a text, not ${shown(value)}`);
  }
}
export function checkWhole(value: unknown, call: string, what: string, least: number): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) >= least)) {
    const range = least === -Infinity ? "" : ` of at least ${least}`;
    throw new UsageError(`${call}: ${what} is a whole number${range}, not ${shown(value)}`);
  }
}
export function checkFunction(value: unknown, call: string): void {
  if (typeof value !== "function") {
    throw new UsageError(`${call}: a function is expected, not ${shown(value)}`);
  }
}
export function checkList(value: unknown, call: string, of: string): void {
  if (!Array.isArray(value)) {
    throw new UsageError(`${call}: a list of ${of} is expected, not ${shown(value)}`);
  }
}

/** An object that has nothing but options of these names. */
export function checkOptions(options: unknown, known: readonly string[], call: string): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new UsageError(`${call}: an object with ${known.join(", ")} is expected, not ${shown(options)}`);
  }
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) {
      throw new UsageError(`${call}: there is no option '${key}', only ${known.join(", ")}`);
    }
  }
}

/** An object with names of the user's. */
export function checkMap(value: unknown, call: string, what: string): void {
  if (value !== undefined && (typeof value !== "object" || value === null || Array.isArray(value))) {
    throw new UsageError(`${call}: ${what} is an object, not ${shown(value)}`);
  }
}

/** Tags as JSON. */
export function encodeTags(tags: Readonly<Record<string, string>> | undefined, call: string): string | undefined {
  if (tags === undefined) {
    return undefined;
  }
  checkMap(tags, call, "tags");
  for (const [name, value] of Object.entries(tags)) {
    checkText(value, call, `tag '${name}'`);
  }
  return JSON.stringify(tags);
}

/** `what`: "workflow 'order'". A generator's code would never run. */
export function checkDefinition(body: unknown, what: string): void {
  if (typeof body !== "function") {
    throw new UsageError(`${what} is no function, but ${shown(body)}`);
  }
  if (Object.prototype.toString.call(body).includes("Generator")) {
    throw new UsageError(`${what} is a generator function; it must be an ordinary or an async one`);
  }
}
