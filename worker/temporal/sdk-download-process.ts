import { createRequire } from 'node:module';
import { Runtime } from '@temporalio/worker';

/**
 * A program, started by sdk-download.ts with a folder: the SDK can download a server only by starting it, which
 * is done once, on a free port, in memory.
 */
const downloadDir = process.argv[2];
const sdkVersion: string = createRequire(import.meta.url)('@temporalio/worker/package.json').version;

try {
  if (!downloadDir) throw new Error('usage: sdk-download-process <folder>');
  const runtime = Runtime.instance();
  const server = await runtime.createEphemeralServer({
    type: 'dev-server',
    exe: {
      type: 'cached-download',
      downloadDir,
      version: 'default',
      ttl: 86_400_000,
      sdkName: 'sdk-typescript',
      sdkVersion,
    },
    namespace: 'default',
    ip: '127.0.0.1',
    port: null,
    uiPort: null,
    dbFilename: null,
    ui: false,
    log: { format: 'text', level: 'error' },
    extraArgs: [],
  });
  await runtime.shutdownEphemeralServer(server);
  process.exit(0);
} catch (error) {
  const reasons: string[] = [];
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (!reasons.some((reason) => reason.includes((cause as Error).message))) reasons.push(cause.message);
  }
  process.stderr.write(`\n${reasons.join(': ').replaceAll(/\s+/g, ' ')}\n`, () => process.exit(1));
}
