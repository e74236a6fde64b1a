// Prints the counts of test runs together: of each the JSON report, and the exit status.
import { readFileSync } from 'node:fs';

const given = process.argv.slice(2);
const counts = { passed: 0, failed: 0 };
for (let index = 0; index < given.length; index += 2) {
  // A run that ended before its tests did has written nothing.
  const report = readFileSync(given[index], 'utf8') || '{"numPassedTests":0,"numFailedTests":0}';
  const { numPassedTests, numFailedTests } = JSON.parse(report);
  counts.passed += numPassedTests;
  counts.failed += numFailedTests + (numFailedTests === 0 && given[index + 1] !== '0' ? 1 : 0);
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed > 0 ? 1 : 0);
