// Values as JSON texts, and failures as such.
import { ActivityError, Failure, PayloadError } from "./errors";
import { placesOf } from "./source";

/** `where` is e.g. "input of task 'charge'". undefined is null. */
export function encode(value: unknown, where: string): string {
  let loss: Loss | undefined;
  try {
    loss = lossIn(value, []);
    if (loss === undefined) {
      return JSON.stringify(value) ?? "null";
    }
  } catch (error) {
    throw new PayloadError(`${where} cannot be written as JSON: ${messageOf(error)}`);
  }
  const path = loss.path === "" ? "it" : loss.path.replace(/^\./, "");
  throw new PayloadError(`${where} cannot be written as JSON: ${path} is ${loss.what}`);
}

interface Loss {
  /** ".items[2].price" */
  path: string;
  what: string;
}

// The first of what JSON.stringify() writes as null, as {} or not at all, though there is something. What
// says itself how it is written is fine.
function lossIn(value: unknown, holders: object[]): Loss | undefined {
  if (value === undefined || value === null || typeof value === "string" || typeof value === "boolean") {
    return undefined;
  }
  if (typeof value === "number") {
    return Number.isFinite(value) ? undefined : { path: "", what: String(value) };
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
    const isLost = value instanceof Date && Number.isNaN(value.getTime());
    return isLost ? { path: "", what: "no valid date" } : undefined;
  }
  const what = typeof value === "object" ? kindOf(value) : `a ${typeof value}`;
  if (what !== undefined || typeof value !== "object") {
    return { path: "", what: what as string };
  }
  if (holders.includes(value)) {
    return { path: "", what: "a cycle: it is in itself" };
  }
  holders.push(value);
  for (const key of Object.keys(value)) {
    const loss = lossIn((value as Record<string, unknown>)[key], holders);
    if (loss !== undefined) {
      const isName = !Array.isArray(value) && /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key);
      const step = isName ? `.${key}` : `[${Array.isArray(value) ? key : JSON.stringify(key)}]`;
      return { path: step + loss.path, what: loss.what };
    }
  }
  holders.pop();
  return undefined;
}

const WRITTEN = ["[object Object]", "[object Array]", "[object Number]", "[object String]", "[object Boolean]"];

/** undefined: plain objects, instances of classes, lists and boxed values, whose fields are written. */
function kindOf(value: object): string | undefined {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === Object.prototype || prototype === Array.prototype || prototype === null) {
    return undefined;
  }
  if (typeof (value as { then?: unknown }).then === "function") {
    return "a promise that was not awaited";
  }
  const tag = Object.prototype.toString.call(value);
  return WRITTEN.includes(tag) ? undefined : `an object of type ${tag.slice("[object ".length, -1)}`;
}

/** Of a failure. That it cannot be written must not hide the failure itself. */
export function encodeDetails(details: unknown): string | undefined {
  try {
    return details === undefined ? undefined : encode(details, "details of the failure");
  } catch (error) {
    return JSON.stringify(messageOf(error));
  }
}

/** What is no JSON is a text. */
export function decode(payload: string | undefined): unknown {
  if (payload === undefined || payload === "") {
    return null;
  }
  try {
    return JSON.parse(payload);
  } catch {
    return payload;
  }
}

export interface FailureFields {
  type: string;
  message: string;
  details?: unknown;
}

/** A recorded failure: {"type", "message", "details"}, or a text. */
export function decodeFailure(payload: string | undefined): FailureFields {
  if (payload === undefined || payload === "") {
    return { type: "", message: "" };
  }
  const value = decode(payload);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const { type, message, details } = value as Record<string, unknown>;
    if (typeof message === "string" || typeof type === "string") {
      return {
        type: typeof type === "string" ? type : "",
        message: typeof message === "string" ? message : payload,
        details,
      };
    }
  }
  return { type: "", message: typeof value === "string" ? value : payload };
}

/** What was thrown, as it is recorded. */
export function failureOf(error: unknown): FailureFields {
  const message = messageOf(error);
  try {
    if (error instanceof ActivityError) {
      return { type: messageOf(error.type), message, details: error.options.details };
    }
    if (error instanceof Failure) {
      return { type: messageOf(error.type || error.name), message, details: error.details };
    }
    if (error instanceof Error) {
      const type = error.constructor === Error ? error.name : error.constructor.name || error.name;
      return { type: messageOf(type), message };
    }
  } catch {
    // Anything may be thrown, also what throws when it is looked at.
  }
  return { type: "", message };
}

/** The same of what ended code: what has no details says where it comes from, {"at": ["orders/order.ts:17"]}. */
export function endOf(error: unknown): FailureFields {
  const failure = failureOf(error);
  if (failure.details === undefined && error instanceof Error && !(error instanceof ActivityError || error instanceof Failure)) {
    try {
      const at = placesOf(error);
      failure.details = at.length > 0 ? { at } : undefined;
    } catch {
      // A stack that cannot be read.
    }
  }
  return failure;
}

/** As a payload. A text that was thrown stays a text. */
export function encodeFailure(error: unknown): string {
  if (typeof error === "string") {
    return JSON.stringify(error);
  }
  const { type, message, details } = endOf(error);
  const text = encodeDetails(details);
  return `${JSON.stringify({ type, message }).slice(0, -1)}${text === undefined ? "" : `,"details":${text}`}}`;
}

const TEXT_MAX = 500;

/** A text, whatever was thrown. */
export function messageOf(error: unknown): string {
  try {
    const said = (error as { message?: unknown } | null | undefined)?.message ?? error;
    if (typeof said === "string") {
      return said;
    }
    const isObject = typeof said === "object" && said !== null && !(said instanceof Error);
    const text = (isObject ? JSON.stringify(said) : undefined) ?? String(said);
    return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
  } catch {
    return "something that has no text was thrown";
  }
}
