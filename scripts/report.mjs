// Prints the counts of test runs together: of each the JSON report, and the exit status.
import { readFileSync } from 'node:fs';

const given = process.argv.slice(2);
const counts = { passed: 0, failed: 0 };
for (let index = 0; index < given.length; index += 2) {
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(given[index], 'utf8'));
  counts.passed += numPassedTests;
  counts.failed += numFailedTests + (numFailedTests === 0 && given[index + 1] !== '0' ? 1 : 0);
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed > 0 ? 1 : 0);
