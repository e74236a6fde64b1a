// Prints the end of a test run: its slowest files, skipped tests with their reasons, then the counts.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const SLOWEST = 30;

const [file, status] = process.argv.slice(2);
const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } = JSON.parse(
  readFileSync(file, 'utf8'),
);
const skipped = numPendingTests + numTodoTests;
const times = testResults.map(({ name, startTime, endTime }) => ({
  name,
  seconds: (endTime - startTime) / 1_000,
}));
for (const { name, seconds } of times
  .toSorted((one, other) => other.seconds - one.seconds)
  .slice(0, SLOWEST)) {
  console.log(`${seconds.toFixed(1).padStart(7)} s  ${relative(process.cwd(), name)}`);
}
for (const { assertionResults } of testResults) {
  for (const { status: result, fullName, meta } of assertionResults) {
    if (result === 'skipped' || result === 'pending' || result === 'todo') {
      console.log(`skipped: ${fullName}${meta?.reason ? `: ${meta.reason}` : ''}`);
    }
  }
}
const failed = numFailedTests + (numFailedTests === 0 && status !== '0' ? 1 : 0);
if (skipped > 0) console.log(`${skipped} skipped`);
console.log(`${numPassedTests} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
