// Where in the user's code a call stands: "orders/order.ts:17", the last two parts of the path,
// since the rest belongs to one machine.

const shortened = new Map<string, string>();

function shorten(file: string): string {
  let short = shortened.get(file);
  if (short === undefined) {
    short = file.replace(/^file:\/\//, "").split("/").slice(-2).join("/");
    shortened.set(file, short);
  }
  return short;
}

let found = "";
function take(_error: Error, sites: NodeJS.CallSite[]): string {
  const site = sites[0];
  const file = site?.getFileName() ?? site?.getScriptNameOrSourceURL?.();
  found = file ? `${shorten(file)}:${site?.getLineNumber() ?? 0}` : "";
  return "";
}

/** Of whoever called `callee`. */
export function sourceOf(callee: (...args: never[]) => unknown): string {
  const { stackTraceLimit, prepareStackTrace } = Error;
  Error.stackTraceLimit = 1;
  Error.prepareStackTrace = take;
  const holder: { stack?: string } = {};
  found = "";
  Error.captureStackTrace(holder, callee);
  void holder.stack; // Now `take` is called.
  Error.prepareStackTrace = prepareStackTrace;
  Error.stackTraceLimit = stackTraceLimit;
  return found;
}

const PLACES_MAX = 3;

/** Where in the user's code an error was made, the innermost place first. */
export function placesOf(error: Error): string[] {
  const places: string[] = [];
  for (const line of error.stack?.split("\n") ?? []) {
    const [, file, number] = /^\s+at [^/]*?((?:file:\/\/)?\/[^:]+):(\d+):\d+\)?$/.exec(line) ?? [];
    const isOthers = line.includes("node:") || line.includes("/node_modules/") || line.includes(__dirname);
    if (file !== undefined && !isOthers) {
      places.push(`${shorten(file)}:${number}`);
    }
  }
  return places.slice(0, PLACES_MAX);
}
