import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { defaultCacheFolder } from '../../worker/temporal/cache-folder.ts';
import { TemporalUnavailable } from '../../worker/temporal/errors.ts';
import { CACHE_SLOTS, cachedExecutable, findExecutable } from '../../worker/temporal/executable.ts';
import { obtainExecutable } from '../../worker/temporal/install.ts';
import { isDeep } from '../setup/tier.ts';
import { OBTAIN_TIMEOUT, startProgram, temporalExecutable, temporaryFolder } from './temporal-fixture.ts';

/** The SDK's download fails at once, also where there is a network. */
const NO_NETWORK = { HTTPS_PROXY: 'http://127.0.0.1:1', https_proxy: 'http://127.0.0.1:1' };

let real: string;

beforeAll(async () => {
  real = (await temporalExecutable()).path;
}, OBTAIN_TIMEOUT);

function script(folder: string, name: string, body: string): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, name);
  writeFileSync(file, `#!${process.execPath}\n${body}\n`);
  chmodSync(file, 0o755);
  return file;
}

function putIntoCache(cacheFolder: string, slot: 'download' | 'build'): string {
  const file = cachedExecutable(cacheFolder, slot);
  mkdirSync(dirname(file), { recursive: true });
  symlinkSync(real, file);
  return file;
}

describe('the search [temporal.executable]', () => {
  test('takes the configured path, else PATH, else the cache', async () => {
    const cacheFolder = temporaryFolder();
    const bin = temporaryFolder();
    const cached = putIntoCache(cacheFolder, 'build');
    expect(await findExecutable({ cacheFolder, env: { PATH: bin } })).toMatchObject({ path: cached });
    symlinkSync(real, join(bin, 'temporal'));
    const found = await findExecutable({ cacheFolder, env: { PATH: bin } });
    expect(found).toMatchObject({
      path: join(bin, 'temporal'),
      version: expect.stringContaining('Server 1.'),
    });
    expect(await findExecutable({ configured: real, cacheFolder, env: { PATH: bin } })).toMatchObject({
      path: real,
    });
  });

  test('passes over other programs of that name and versions that lack a flag', async () => {
    const cacheFolder = temporaryFolder();
    const [other, old] = [temporaryFolder(), temporaryFolder()];
    script(other, 'temporal', 'console.log("temporal, a date library"); process.exit(3);');
    script(old, 'temporal', 'console.log("temporal version 0.1.0\\n      --port int\\n");');
    const cached = putIntoCache(cacheFolder, 'download');
    const env = { PATH: [other, old].join(delimiter) };
    expect(await findExecutable({ cacheFolder, env })).toMatchObject({ path: cached });
    const attempts = await findExecutable({ cacheFolder: temporaryFolder(), env });
    expect(attempts).toMatchObject([
      { what: 'a configured path (HOLDFAST_TEMPORAL_CLI)' },
      { what: `PATH, ${join(other, 'temporal')}`, why: expect.stringContaining('a date library') },
      {
        what: `PATH, ${join(old, 'temporal')}`,
        why: expect.stringContaining('version 0.1.0 lacks --db-filename'),
      },
      { what: 'the cache' },
    ]);
  });

  test('never passes over a configured path that is of no use', async () => {
    const search = findExecutable({
      configured: '/none/temporal',
      cacheFolder: temporaryFolder(),
      env: process.env,
    });
    await expect(search).rejects.toThrow(
      /\/none\/temporal: there is no executable file[\s\S]*HOLDFAST_TEMPORAL_CLI/,
    );
  });

  test('knows the cache folder of each platform by the environment', () => {
    expect(defaultCacheFolder({ HOLDFAST_CACHE: '/c' })).toBe('/c');
    if (process.platform === 'linux') {
      expect(defaultCacheFolder({ XDG_CACHE_HOME: '/x' })).toBe('/x/holdfast');
      expect(defaultCacheFolder({ HOME: '/h' })).toBe('/h/.cache/holdfast');
    }
  });
});

describe('the installation', () => {
  test('that fails in every way is one error with each attempt and what to do [temporal.failed]', async () => {
    const cacheFolder = temporaryFolder();
    const env = { PATH: temporaryFolder(), ...NO_NETWORK };
    const failure = await obtainExecutable({ cacheFolder, env, onProgress: () => {} }).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(TemporalUnavailable);
    expect(failure).toMatchObject({
      code: 'HOLDFAST_TEMPORAL_UNAVAILABLE',
      attempts: [
        { what: 'a configured path (HOLDFAST_TEMPORAL_CLI)', why: 'none is set' },
        { what: 'PATH', why: 'no `temporal` in its 1 folders' },
        { what: 'the cache', why: `nothing in ${cacheFolder}` },
        { what: "the SDK's download", why: expect.stringContaining('temporal.download') },
        { what: 'building one with Go', why: 'there is no `go` on PATH' },
      ],
    });
    for (const remedy of ['TEMPORAL_ADDRESS', 'HOLDFAST_TEMPORAL_CLI', 'docs.temporal.io/cli', 'go.dev/dl']) {
      expect(String(failure)).toContain(remedy);
    }
    expect(readdirSync(cacheFolder).filter((name) => name.includes('.tmp-'))).toEqual([]);
  });

  if (isDeep) {
    test('by Go shows progress; a second process waits for it and builds nothing [temporal.install]', async () => {
      const [cacheFolder, bin] = [temporaryFolder(), temporaryFolder()];
      const [gate, calls] = [join(bin, 'gate'), join(bin, 'calls')];
      mkdirSync(join(cacheFolder, 'temporal-dev-1.30.8.tmp-1'));
      script(
        bin,
        'go',
        `const fs = require('node:fs');
      fs.appendFileSync(${JSON.stringify(calls)}, process.argv.slice(2).join(' ') + '\\n');
      process.stderr.write('go: downloading example.com/a v1.0.0\\ninternal/abi\\nexample.com/a/v2\\n');
      setInterval(() => {
        if (!fs.existsSync(${JSON.stringify(gate)})) return;
        fs.symlinkSync(${JSON.stringify(real)}, process.argv[process.argv.indexOf('-o') + 1]);
        process.exit(0);
      }, 20);`,
      );
      const env = { ...process.env, PATH: bin, ...NO_NETWORK };
      const first = startProgram('temporal-installer-program.ts', [cacheFolder], env);
      await first.line((line) => line.startsWith('building Temporal with go'));
      const second = startProgram('temporal-installer-program.ts', [cacheFolder], env);
      expect(await second.line()).toBe(`waiting for process ${first.pid}, which is installing Temporal: 0 s`);
      expect(await first.line()).toMatch(/: ([5-9]|\d\d) s, 2 packages compiled$/);
      expect(await second.line()).toMatch(/: ([5-9]|\d\d) s$/);
      writeFileSync(gate, '');
      const path = cachedExecutable(cacheFolder, 'build');
      expect(await first.line((line) => line.startsWith('obtained'))).toBe(`obtained ${path}`);
      expect(await second.line()).toBe(`obtained ${path}`);
      expect(readFileSync(calls, 'utf8').match(/^build .*-mod=readonly .* \.$/gm)).toHaveLength(1);
      expect(readdirSync(cacheFolder).filter((name) => name.includes('.tmp-'))).toEqual([]);
    });
  }

  test('goes on in the second process when the first one is killed [temporal.install]', async () => {
    const [cacheFolder, bin] = [temporaryFolder(), temporaryFolder()];
    const gate = join(bin, 'gate');
    script(
      bin,
      'go',
      `const fs = require('node:fs');
      process.stderr.write('building\\n');
      if (!fs.existsSync(${JSON.stringify(gate)})) setInterval(() => process.ppid === 1 && process.exit(1), 20);
      else fs.symlinkSync(${JSON.stringify(real)}, process.argv[process.argv.indexOf('-o') + 1]);`,
    );
    const env = { ...process.env, PATH: bin, ...NO_NETWORK };
    const first = startProgram('temporal-installer-program.ts', [cacheFolder], env);
    await first.line((line) => line.startsWith('building Temporal with go'));
    const second = startProgram('temporal-installer-program.ts', [cacheFolder], env);
    await second.line((line) => line.startsWith('waiting'));
    writeFileSync(gate, '');
    await first.kill();
    expect(await second.line((line) => line.startsWith('obtained'))).toContain(
      cachedExecutable(cacheFolder, 'build'),
    );
  });

  test('by Go has the slot of the server that its module names', () => {
    const module = readFileSync(new URL('../../worker/temporal/server/go.mod', import.meta.url), 'utf8');
    expect(CACHE_SLOTS.build).toBe(`temporal-dev-${/go\.temporal\.io\/server v(\S+)/.exec(module)?.[1]}`);
  });

  test("that Go refuses keeps the end of Go's words", async () => {
    const [cacheFolder, bin] = [temporaryFolder(), temporaryFolder()];
    script(
      bin,
      'go',
      `process.stderr.write('internal/abi\\ngo: example.com/a: no such host\\n'); process.exit(1);`,
    );
    const env = { PATH: bin, ...NO_NETWORK };
    const failure = await obtainExecutable({ cacheFolder, env, onProgress: () => {} }).catch(
      (error: unknown) => error,
    );
    expect((failure as TemporalUnavailable).attempts.at(-1)?.why).toBe(
      'exit code 1\ngo: example.com/a: no such host',
    );
  });

  if (isDeep) {
    test('ends with the signal, leaving neither drafts nor the lock', async () => {
      const [cacheFolder, bin] = [temporaryFolder(), temporaryFolder()];
      const interrupted = join(bin, 'interrupted');
      script(
        bin,
        'go',
        `process.on('SIGINT', () => { require('node:fs').writeFileSync(${JSON.stringify(interrupted)}, ''); process.exit(1); });
        process.stderr.write('internal/abi\\n');
        setInterval(() => {}, 1000);`,
      );
      const abort = new AbortController();
      const env = { PATH: bin, ...NO_NETWORK };
      const onProgress = (line: string) => {
        if (line.includes('1 packages compiled')) abort.abort(new Error('enough'));
      };
      const installing = obtainExecutable({ cacheFolder, env, onProgress, signal: abort.signal });
      await expect(installing).rejects.toThrow('enough');
      expect(existsSync(interrupted)).toBe(true);
      expect(readdirSync(cacheFolder).filter((name) => name.includes('.tmp-'))).toEqual([]);
      const cached = putIntoCache(cacheFolder, 'build');
      expect(await obtainExecutable({ cacheFolder, env, onProgress: () => {} })).toMatchObject({
        path: cached,
      });
    });
  }
});
