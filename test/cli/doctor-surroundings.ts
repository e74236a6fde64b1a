import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ownRuntime } from '../../src/cli/doctor/check-runtime.ts';
import type { Finding, Surroundings } from '../../src/cli/doctor/finding.ts';

/** A machine on which nothing has run and nothing is set, but for what is given. */
export function surroundings(given: Partial<Surroundings> = {}): Surroundings {
  const folder = given.folder ?? join(temporaryFolder(), '.holdfast');
  return { env: {}, askModel: false, runtime: ownRuntime(), ...given, folder };
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-doctor-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The findings of one kind, as `status: message → fix`. */
export function told(findings: readonly Finding[], about: string): string[] {
  return findings
    .filter((finding) => finding.about === about)
    .map(({ status, message, fix }) => `${status}: ${message}${fix === undefined ? '' : ` → ${fix}`}`);
}
