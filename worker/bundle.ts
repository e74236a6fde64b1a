import { open, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { z } from 'zod';
import { codedError } from '../src/contract/error.ts';
import { PROTOCOL_VERSION } from '../src/contract/version.ts';
import { PACKAGE_FOLDER } from '../src/own-files.ts';

/** The versions that a workflow bundle was built from. */
export interface BundleStamp {
  /** Version of the Temporal SDK. */
  sdk: string;
  protocol: number;
  /** Digest of the workflow sources. */
  sources?: string | undefined;
}

const MARK = '// holdfast workflow bundle ';
const LONGEST_STAMP = 1024;

/** A worker and its workflow bundle were built from different versions. */
export class BundleMismatch extends codedError('HOLDFAST_BUNDLE_MISMATCH') {}

/** Where the prebuilt bundle lies: `dist/workflow-bundle.js`, seen from the sources and from the built package alike. */
export function bundlePath(): string {
  return join(PACKAGE_FOLDER, 'dist/workflow-bundle.js');
}

export function currentStamp(): BundleStamp {
  const manifest: unknown = createRequire(import.meta.url)('@temporalio/worker/package.json');
  const sdk =
    typeof manifest === 'object' && manifest !== null && 'version' in manifest
      ? String(manifest.version)
      : 'unknown';
  return { sdk, protocol: PROTOCOL_VERSION };
}

export function formatStamp(stamp: BundleStamp): string {
  return MARK + JSON.stringify({ sdk: stamp.sdk, protocol: stamp.protocol, sources: stamp.sources });
}

/** @throws BundleMismatch where the file is missing or carries no stamp. */
export async function readStamp(path: string): Promise<BundleStamp> {
  let line: string;
  try {
    const file = await open(path);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(LONGEST_STAMP), 0, LONGEST_STAMP, 0);
      line = buffer.toString('utf8', 0, bytesRead).split('\n', 1)[0] ?? '';
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new BundleMismatch(
      `no workflow bundle at ${path}: run "npm run build", or install the package again`,
      {
        cause: error,
      },
    );
  }
  const stamp = line.startsWith(MARK) ? parseStamp(line.slice(MARK.length)) : undefined;
  if (stamp === undefined)
    throw new BundleMismatch(`the workflow bundle at ${path} carries no stamp: build it again`);
  return stamp;
}

function parseStamp(json: string): BundleStamp | undefined {
  const stamp = z
    .object({ sdk: z.string(), protocol: z.number(), sources: z.string().optional() })
    .safeParse(tryParse(json));
  return stamp.success ? stamp.data : undefined;
}

function tryParse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * The prebuilt bundle, where it fits the SDK and the protocol of this worker.
 *
 * @throws BundleMismatch naming both versions.
 */
export async function workflowBundle(path: string = bundlePath()): Promise<{ codePath: string }> {
  const stamp = await readStamp(path);
  const current = currentStamp();
  if (stamp.sdk !== current.sdk || stamp.protocol !== current.protocol) {
    throw new BundleMismatch(
      `the workflow bundle was built for Temporal SDK ${stamp.sdk} and protocol ${stamp.protocol}, ` +
        `this worker runs SDK ${current.sdk} and protocol ${current.protocol}: ` +
        'install one version of all @temporalio packages, or build the bundle again',
    );
  }
  return { codePath: path };
}

/** The bundle of a worker that belongs to a test environment: its workflows let time pass when they are asked to. */
export async function testWorkflowBundle(path?: string): Promise<{ code: string }> {
  const { codePath } = await workflowBundle(path);
  return { code: `globalThis.holdfastTests = true;\n${await readFile(codePath, 'utf8')}` };
}
