import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { Storage } from '@google-cloud/storage';
import type { Bucket } from '../../src/artifacts/bucket.ts';
import { gcsBucket } from '../../src/artifacts/gcs-bucket.ts';
import { s3Bucket } from '../../src/artifacts/s3-bucket.ts';
import { freePort } from './free-port.ts';

/** Programs that tests need, installed once. */
const TOOLS = join(homedir(), '.cache', 'holdfast', 'test-tools');
const CREDENTIALS = { accessKeyId: 'holdfast', secretAccessKey: 'holdfast-secret' };

/** A bucket on a real server, which ends with it. */
export interface ServedBucket {
  bucket: Bucket;
  stop(): Promise<void>;
}

/** Servers of objects, by name. Each installs itself where it is missing. */
export const OBJECT_STORES: Readonly<Record<string, () => Promise<ServedBucket>>> = {
  moto: async () => {
    const program = join(TOOLS, 'moto', 'bin', 'moto_server');
    if (!existsSync(program)) {
      ran('python3', ['-m', 'venv', join(TOOLS, 'moto')]);
      ran(join(TOOLS, 'moto', 'bin', 'pip'), ['install', '--quiet', 'moto[s3,server]==5.2.5']);
    }
    const port = await freePort();
    const server = started(program, ['-H', '127.0.0.1', '-p', String(port)]);
    return await s3On(port, server);
  },
  versitygw: async () => {
    const program = goTool('versitygw', 'github.com/versity/versitygw/cmd/versitygw@v1.8.0');
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-versity-'));
    const { accessKeyId, secretAccessKey } = CREDENTIALS;
    const keys = ['--access', accessKeyId, '--secret', secretAccessKey];
    const server = started(program, [...keys, '--port', `127.0.0.1:${port}`, 'posix', folder]);
    const served = await s3On(port, server);
    return {
      ...served,
      async stop() {
        await served.stop();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
  'fake-gcs-server': async () => {
    const program = goTool('fake-gcs-server', 'github.com/fsouza/fake-gcs-server@v1.56.1');
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const options = [
      '-scheme',
      'http',
      '-host',
      '127.0.0.1',
      '-port',
      String(port),
      '-backend',
      'memory',
      '-external-url',
      url,
    ];
    const server = started(program, [...options, '-public-host', `127.0.0.1:${port}`, '-log-level', 'error']);
    await reachable(url, server);
    const storage = new Storage({ apiEndpoint: url, projectId: 'holdfast' });
    await storage.createBucket('artifacts');
    const bucket = await gcsBucket({ bucket: 'artifacts', prefix: 'tests/', storage });
    return { bucket, stop: () => stopped(server) };
  },
};

async function s3On(port: number, server: ChildProcess): Promise<ServedBucket> {
  const endpoint = `http://127.0.0.1:${port}`;
  await reachable(endpoint, server);
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: CREDENTIALS,
  });
  await client.send(new CreateBucketCommand({ Bucket: 'artifacts' }));
  const bucket = await s3Bucket({ bucket: 'artifacts', prefix: 'tests/', client });
  return {
    bucket,
    async stop() {
      client.destroy();
      await stopped(server);
    },
  };
}

function goTool(name: string, module: string): string {
  const program = join(TOOLS, 'bin', name);
  if (!existsSync(program)) {
    mkdirSync(join(TOOLS, 'bin'), { recursive: true });
    ran('go', ['install', module], { GOBIN: join(TOOLS, 'bin') });
  }
  return program;
}

function ran(program: string, args: readonly string[], env: Record<string, string> = {}): void {
  const { status, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  if (status === 0) return;
  throw new Error(`${program} ${args.join(' ')} failed: ${error?.message ?? stderr.slice(-2_000)}`);
}

function started(program: string, args: readonly string[]): ChildProcess {
  const server = spawn(program, args, { stdio: 'ignore' });
  server.on('error', (error) => console.error(`${program}: ${error.message}`));
  return server;
}

async function reachable(url: string, server: ChildProcess): Promise<void> {
  for (const until = Date.now() + 60_000; Date.now() < until; ) {
    if (server.exitCode !== null) throw new Error(`the server of ${url} ended with ${server.exitCode}`);
    try {
      await fetch(url);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error(`nothing answers at ${url}`);
}

async function stopped(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGKILL');
  await ended;
}
