// What failed, with the reason; and at the end how many passed and failed.
export default async function* report(events) {
  let passed = 0;
  let failed = 0;
  for await (const { type, data } of events) {
    const isSuite = data?.details?.type === "suite";
    if (type === "test:pass" && data.skip !== undefined) {
      yield `skipped ${data.name}: ${data.skip}\n`;
    } else if (type === "test:pass" && !isSuite) {
      passed += 1;
    } else if (type === "test:fail" && !isSuite) {
      failed += 1;
      const { error } = data.details;
      yield `FAIL ${data.file ?? ""} ${data.name}\n${error.cause?.stack ?? error.cause ?? error}\n`;
    } else if (type === "test:stderr") {
      yield data.message;
    }
  }
  yield `${passed} passed, ${failed} failed\n`;
}
