// Events of signals, in the form in which the log has them: `time` of an entry is when the run saw
// it, so that of the event has another name; what CloudEvents does not know is in `extensions`.
import type { Event } from "./options";

const KNOWN = ["id", "source", "type", "subject", "time", "datacontenttype", "dataschema"];

export function encodeEvent(signal: string, event: Event | undefined): string {
  if (event === undefined || Object.keys(event).length === 0) {
    return "";
  }
  const extra: Record<string, unknown> = { type: signal };
  const extensions: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(event)) {
    if (value === undefined || value === "") {
      continue;
    }
    if (KNOWN.includes(name)) {
      extra[name === "time" ? "eventTime" : name] = value;
    } else {
      extensions[name] = value;
    }
  }
  if (Object.keys(extensions).length > 0) {
    extra["extensions"] = extensions;
  }
  return JSON.stringify(extra);
}

export function decodeEvent(extra: string): Event {
  if (extra === "") {
    return {};
  }
  const fields = JSON.parse(extra) as Record<string, unknown>;
  const event: Event = {};
  for (const name of KNOWN) {
    const value = fields[name === "time" ? "eventTime" : name];
    if (value !== undefined) {
      event[name] = value;
    }
  }
  return Object.assign(event, fields["extensions"]);
}

/** By this it is sent once. Two sources may give the same id to different events. */
export function dedupeText(event: Event | undefined): string {
  const id = event?.id ?? "";
  return id === "" || !event?.source ? id : `${id}\n${event.source}`;
}
