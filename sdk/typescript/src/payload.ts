// Values as JSON texts, and failures as such.
import { ActivityError, Failure, PayloadError } from "./errors";

/** `where` is e.g. "input of task 'charge'". undefined is null. */
export function encode(value: unknown, where: string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw new PayloadError(`${where} cannot be written as JSON: ${messageOf(error)}`);
  }
  if (text === undefined && value !== undefined) {
    throw new PayloadError(`${where} cannot be written as JSON: it is a ${typeof value}`);
  }
  return text ?? "null";
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
  const value = decode(payload);
  if (value === null) {
    return { type: "", message: "" };
  }
  if (typeof value === "object" && !Array.isArray(value)) {
    const { type, message, details } = value as Record<string, unknown>;
    if (typeof message === "string" || typeof type === "string") {
      return {
        type: typeof type === "string" ? type : "",
        message: typeof message === "string" ? message : (payload ?? ""),
        details,
      };
    }
  }
  return { type: "", message: typeof value === "string" ? value : (payload ?? "") };
}

/** What was thrown, as it is recorded. */
export function failureOf(error: unknown): FailureFields {
  if (error instanceof ActivityError) {
    return { type: error.type, message: error.message, details: error.options.details };
  }
  if (error instanceof Failure) {
    return { type: error.type || error.name, message: error.message, details: error.details };
  }
  if (error instanceof Error) {
    const type = error.constructor === Error ? error.name : error.constructor.name || error.name;
    return { type, message: error.message };
  }
  return { type: "", message: messageOf(error) };
}

/** As a payload. A text that was thrown stays a text. */
export function encodeFailure(error: unknown): string {
  if (typeof error === "string") {
    return JSON.stringify(error);
  }
  const { type, message, details } = failureOf(error);
  try {
    return JSON.stringify({ type, message, details });
  } catch {
    return JSON.stringify({ type, message });
  }
}

export function messageOf(error: unknown): string {
  if (error instanceof Error) {
    return error.message;
  }
  return typeof error === "string" ? error : String(error);
}
