// Prints the closing line of a test run: skipped tests with their reasons, then the counts.
import { readFileSync } from 'node:fs';

const [file, status] = process.argv.slice(2);
const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } = JSON.parse(
  readFileSync(file, 'utf8'),
);
const skipped = numPendingTests + numTodoTests;
for (const { assertionResults } of testResults) {
  for (const { status: result, fullName, meta } of assertionResults) {
    if (result === 'skipped' || result === 'pending' || result === 'todo') {
      console.log(`skipped: ${fullName}${meta?.reason ? `: ${meta.reason}` : ''}`);
    }
  }
}
const failed = numFailedTests + (numFailedTests === 0 && status !== '0' ? 1 : 0);
console.log(`${numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exit(failed > 0 ? 1 : 0);
