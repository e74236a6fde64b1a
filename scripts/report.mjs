// Prints the counts of a test run.
import { readFileSync } from 'node:fs';

const [file, status] = process.argv.slice(2);
const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(file, 'utf8'));
const failed = numFailedTests + (numFailedTests === 0 && status !== '0' ? 1 : 0);
console.log(`${numPassedTests} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
