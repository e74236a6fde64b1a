import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { chmod, lstat, mkdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Workspace, type WorkspaceOptions } from '../../src/tools/workspace/workspace.ts';
import { inTier } from '../setup/tier.ts';
import { type StoreOperation, wrappedStore } from '../setup/wrapped-store.ts';
import { callIn, callTool, filesOf, WorkspaceScene } from './workspace-scene.ts';

let scene: WorkspaceScene;
beforeAll(async () => {
  scene = await WorkspaceScene.open();
});
afterAll(() => scene.close());

const session = () => {
  const id = randomUUID();
  return () => callIn(scene.store, id);
};
const put = (name: string, text: string) => (root: string) => writeFile(join(root, name), text);
const versionsOf = async (call: () => ReturnType<typeof callIn>) =>
  (await call().invocationContext.artifactService?.listVersions('workspace.tar.gz'))?.length;

/** The folder of the only session in a workspace's folder. */
const placeIn = (folder: string) => join(folder, ...readdirSync(folder));

test('another worker has the files, modes and links, and each change is one version [workspace.restore]', async () => {
  const call = session();
  const one = scene.newWorkspace();
  await one.use(call(), async (root) => {
    await mkdir(join(root, 'src/empty'), { recursive: true });
    await writeFile(join(root, 'src/run.sh'), 'echo\n', { mode: 0o755 });
    await writeFile(join(root, `${'long'.repeat(40)} und ü.txt`), 'x'.repeat(200_000));
    await writeFile(join(root, 'none.txt'), '');
    await symlink('src/run.sh', join(root, 'run'));
    await symlink('../../..', join(root, 'src/out'));
    await symlink('/etc/passwd', join(root, 'passwd'));
    await chmod(join(root, 'src/run.sh'), 0o555);
  });
  expect(await versionsOf(call)).toBe(1);
  await scene.newWorkspace().use(call(), async (root) => {
    expect((await lstat(join(root, 'src/run.sh'))).mode & 0o777).toBe(0o555);
    expect(await readdirSync(join(root, 'src'))).toEqual(['empty', 'run.sh']);
    expect(await readlink(join(root, 'run'))).toBe('src/run.sh');
    expect(readdirSync(root)).not.toContain('passwd');
    expect((await readFile(join(root, `${'long'.repeat(40)} und ü.txt`))).length).toBe(200_000);
  });
  await filesOf(one, call());
  expect(await versionsOf(call)).toBe(1);
  await one.use(call(), put('none.txt', ''));
  await one.use(call(), put('none.txt', '1'));
  await one.use(call(), put('none.txt', '2'));
  expect(await filesOf(scene.newWorkspace(), call())).toMatchObject({ 'none.txt': '2' });
});

test('a use that throws changes nothing [workspace.failed]', async () => {
  const call = session();
  const workspace = scene.newWorkspace();
  await workspace.use(call(), put('a.txt', 'first'));
  const failing = workspace.use(call(), async (root) => {
    await rm(join(root, 'a.txt'));
    await put('b.txt', 'second')(root);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await filesOf(workspace, call())).toEqual({ 'a.txt': 'first' });
});

test.each<[string, WorkspaceOptions, (root: string) => Promise<unknown>, RegExp]>([
  ['more bytes', { maxBytes: 1_000 }, put('b.txt', 'x'.repeat(2_000)), /more than 1000 bytes/],
  ['too many levels', {}, (root) => mkdir(join(root, 'd/'.repeat(66)), { recursive: true }), /levels deep/],
  ['no root', {}, (root) => rm(root, { recursive: true }), /is gone/],
  [
    'a name that is not UTF-8',
    {},
    (root) => mkdir(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff])])),
    /not UTF-8/,
  ],
])(
  'a call that leaves %s fails, and the files are as before [workspace.bounds]',
  async (_, options, work, problem) => {
    const call = session();
    const workspace = scene.newWorkspace(options);
    await workspace.use(call(), put('a.txt', 'first'));
    const failing = workspace.use(call(), work);
    await expect(failing).rejects.toThrow(problem);
    await expect(failing).rejects.toMatchObject({ code: 'HOLDFAST_SNAPSHOT_FAILED', retryable: false });
    expect(await filesOf(workspace, call())).toEqual({ 'a.txt': 'first' });
  },
);

test('uses of a session wait for one another, in other workspaces of the folder too [workspace.queue]', async () => {
  const call = session();
  const folder = scene.newFolder();
  const workspaces = [new Workspace({ folder }), new Workspace({ folder })];
  const counts = Array.from({ length: 10 }, (_, nth) =>
    workspaces[nth % 2]?.use(call(), async (root) => {
      const count = Number(await readFile(join(root, 'n'), 'utf8').catch(() => 0));
      await setTimeout(2);
      await put('n', `${count + 1}`)(root);
    }),
  );
  await Promise.all(counts);
  expect(await filesOf(scene.newWorkspace(), call())).toEqual({ n: '10' });
});

test('an agent elsewhere that has changed files meanwhile makes a call try again [workspace.parallel]', async () => {
  const call = session();
  const [one, other] = [scene.newWorkspace(), scene.newWorkspace()];
  const late = one.use(call(), async (root) => {
    await put('a.txt', 'late')(root);
    await other.use(call(), put('b.txt', 'early'));
  });
  await expect(late).rejects.toMatchObject({ code: 'HOLDFAST_WORKSPACE_CHANGED', retryable: true });
  await one.use(call(), put('a.txt', 'late'));
  expect(await filesOf(other, call())).toEqual({ 'a.txt': 'late', 'b.txt': 'early' });
});

test('without snapshots files stay on their worker, and another one tells which are lost, once [workspace.lost]', async () => {
  const call = session();
  const [one, other] = [scene.newWorkspace({ snapshots: false }), scene.newWorkspace({ snapshots: false })];
  const write = (on: Workspace, path: string) => callTool(on, 'write_file', { path, text: 'x' }, call());
  expect(await write(one, 'a.txt')).toEqual({ path: 'a.txt', bytes: 1 });
  expect(await write(one, 'b.txt')).toEqual({ path: 'b.txt', bytes: 1 });
  const read = await callTool(other, 'list_files', {}, call());
  expect(read).toMatchObject({ entries: [], filesLost: { files: ['a.txt', 'b.txt'] } });
  expect(await write(other, 'c.txt')).toEqual({ path: 'c.txt', bytes: 1 });
  expect(await filesOf(other, call())).toEqual({ 'c.txt': 'x' });
  expect(await callTool(one, 'list_files', {}, call())).toMatchObject({
    entries: [],
    filesLost: { files: ['c.txt'] },
  });
});

type Entries = (archive: ReturnType<typeof pack>) => unknown;
const hostile: [string, Entries][] = [
  ['has a path out', (archive) => archive.entry({ name: '../out.txt' }, 'x')],
  ['has an absolute path', (archive) => archive.entry({ name: '/tmp/out.txt' }, 'x')],
  [
    'writes through a link',
    (archive) => {
      archive.entry({ name: 'l', type: 'symlink', linkname: '..' });
      archive.entry({ name: 'l/out.txt' }, 'x');
      archive.entry({ name: 'l' }, 'x');
    },
  ],
  [
    'has one name twice',
    (archive) => {
      archive.entry({ name: 'a.txt' }, 'x');
      archive.entry({ name: 'a.txt' }, 'y');
    },
  ],
  ['is too large', (archive) => archive.entry({ name: 'a.txt' }, 'x'.repeat(70_000_000))],
];
const links: Entries = (archive) => {
  for (const [name, linkname] of [
    ['a/b/in', '../../c'],
    ['out', '..'],
    ['a/b/out', '../../../c'],
    ['a/over', 'b/../../..'],
    ['abs', '/etc'],
  ]) {
    archive.entry({ name: name ?? '', type: 'symlink', linkname: linkname ?? '' });
  }
  archive.entry({ name: 'a/b/c.txt' }, 'x');
  archive.entry({ name: 'dev', type: 'character-device', devmajor: 1, devminor: 5 });
  archive.entry({ name: 'hard', type: 'link', linkname: '/etc/passwd' });
};

async function upload(entries: Entries | Uint8Array, call: () => ReturnType<typeof callIn>): Promise<void> {
  const archive = pack();
  if (entries instanceof Uint8Array) archive.entry({ name: 'x' }, 'x');
  else entries(archive);
  archive.finalize();
  const whole = gzipSync(Buffer.concat(await Readable.from(archive).toArray()));
  const data = Buffer.from(entries instanceof Uint8Array ? entries : whole).toString('base64');
  await call().saveArtifact('workspace.tar.gz', { inlineData: { data, mimeType: 'application/gzip' } });
}

test.each([...hostile, ['is no archive', Buffer.from('garbage')] as const])(
  'a snapshot that %s is refused, and nothing is restored [workspace.hostile]',
  async (_, entries) => {
    const call = session();
    const folder = scene.newFolder();
    const workspace = new Workspace({ folder });
    await workspace.use(call(), put('a.txt', 'mine'));
    await upload(entries, call);
    await expect(filesOf(workspace, call())).rejects.toMatchObject({ code: 'HOLDFAST_SNAPSHOT_FAILED' });
    expect(readFileSync(join(placeIn(folder), 'root/a.txt'), 'utf8')).toBe('mine');
    expect(readdirSync(folder)).toHaveLength(1);
    expect(readdirSync(placeIn(folder))).not.toContain('out.txt');
  },
);

test('links out, devices and hard links of a snapshot are left out [workspace.hostile]', async () => {
  const call = session();
  await upload(links, call);
  await scene.newWorkspace().use(call(), async (root) => {
    const restored = (readdirSync(root, { recursive: true }) as string[]).sort();
    expect(restored).toEqual(['a', 'a/b', 'a/b/c.txt', 'a/b/in']);
  });
});

describe('a worker that dies', () => {
  const OPERATIONS: StoreOperation[] = [
    'blobs.put',
    'blobs.begin',
    'blobs.write',
    'blobs.finish',
    'artifacts.save',
  ];
  test.each(
    OPERATIONS.flatMap((operation) => [['before', operation] as const, ['after', operation] as const]),
  )(
    '%s %s leaves the files of the last version, here and elsewhere [workspace.kills]',
    async (when, operation) => {
      const id = randomUUID();
      const folder = scene.newFolder();
      const dying = wrappedStore(scene.store, (asked, own) => {
        if (asked !== operation) return undefined;
        return async (...given) => {
          if (when === 'after') await own(...given);
          throw new Error('it died');
        };
      });
      await new Workspace({ folder }).use(callIn(scene.store, id), put('a.txt', 'first'));
      const large = operation.startsWith('blobs.') && operation !== 'blobs.put';
      const text = large ? Array.from({ length: 60_000 }, () => randomUUID()).join('') : 'second';
      const died = new Workspace({ folder }).use(callIn(dying, id), put('a.txt', text));
      await expect(died).rejects.toThrow();
      const recorded = when === 'after' && operation === 'artifacts.save' ? text : 'first';
      expect(await filesOf(new Workspace({ folder }), callIn(scene.store, id))).toEqual({
        'a.txt': recorded,
      });
      expect(await filesOf(scene.newWorkspace(), callIn(scene.store, id))).toEqual({ 'a.txt': recorded });
    },
  );

  /** The folder that a death between two steps of a restore leaves. */
  const LEFT: [string, (place: string) => void][] = [
    [
      'while it unpacks',
      (place) => {
        mkdirSync(join(place, 'next'));
        writeFileSync(join(place, 'next/a.txt'), 'ha');
        writeFileSync(join(place, 'archive'), 'x');
      },
    ],
    ['before the old folder goes', (place) => rmSync(join(place, 'marker.json'))],
    [
      'between the two folders',
      (place) => {
        rmSync(join(place, 'marker.json'));
        renameSync(join(place, 'root'), join(place, 'old'));
      },
    ],
    [
      'before the marker is there',
      (place) => {
        rmSync(join(place, 'marker.json'));
        mkdirSync(join(place, 'old'));
        writeFileSync(join(place, 'marker.next'), '{"di');
      },
    ],
    ['with a marker of other files', (place) => writeFileSync(join(place, 'root/a.txt'), 'half')],
    [
      'with a link as its root',
      (place) => {
        rmSync(join(place, 'root'), { recursive: true });
        symlinkSync('/etc', join(place, 'root'));
      },
    ],
  ];
  test.each(LEFT)('%s has them whole afterwards [workspace.kills]', async (_, leave) => {
    const call = session();
    const folder = scene.newFolder();
    await new Workspace({ folder }).use(call(), put('a.txt', 'first'));
    leave(placeIn(folder));
    expect(await filesOf(new Workspace({ folder }), call())).toEqual({ 'a.txt': 'first' });
    expect(readdirSync(placeIn(folder)).sort()).toEqual(expect.arrayContaining(['marker.json', 'root']));
  });

  test('at any moment has the files of one version, all of them [workspace.kills]', async () => {
    const id = randomUUID();
    const folder = scene.newFolder();
    const program = fileURLToPath(new URL('./counting-program.ts', import.meta.url));
    let last = 0;
    for (let round = 0; round < inTier(6, 30); round += 1) {
      const child = spawn(process.execPath, [program, scene.url, folder, id], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const closed = once(child, 'close');
      await once(child.stdout, 'data');
      await setTimeout(Math.random() * 400);
      if (round % 5 === 0) {
        // It waits for the other process, and sees none of its halves.
        const seen = Object.values(await filesOf(new Workspace({ folder }), callIn(scene.store, id)));
        expect(new Set(seen).size).toBeLessThanOrEqual(1);
      }
      child.kill('SIGKILL');
      await closed;
      // Each second round goes on elsewhere.
      const workspace = round % 2 === 0 ? new Workspace({ folder }) : scene.newWorkspace();
      const counts = Object.values(await filesOf(workspace, callIn(scene.store, id)));
      expect(new Set(counts).size).toBeLessThanOrEqual(1);
      expect([0, 30]).toContain(counts.length);
      expect(Number(counts[0] ?? 0)).toBeGreaterThanOrEqual(last);
      last = Number(counts[0] ?? 0);
    }
    expect(last).toBeGreaterThan(0);
  });
});

const path = fc.constantFrom('a.txt', 'b.txt', 'd/a.txt', 'd/e/b.txt');
const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '$&', 'ü'), maxLength: 12 });
const step = fc.record({
  on: fc.constantFrom(0, 1),
  does: fc.constantFrom('write', 'edit', 'edit all', 'remove', 'fail'),
  path,
  text,
  oldText: fc.constantFrom('a', 'b', 'ab', '\n', '$&'),
});

test('writes, edits, removals and failures on two workers are those of a model [workspace.model]', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const call = session();
      const workspaces = [scene.newWorkspace(), scene.newWorkspace()] as const;
      const model = new Map<string, string>();
      for (const { on, does, path, text, oldText } of steps) {
        const workspace = workspaces[on as 0 | 1];
        const known = model.get(path);
        if (does === 'write') {
          await callTool(workspace, 'write_file', { path, text }, call());
          model.set(path, text);
        } else if (does === 'remove') {
          await workspace.use(call(), (root) => rm(join(root, path), { force: true }));
          model.delete(path);
        } else if (does === 'fail') {
          await workspace
            .use(call(), async (root) => {
              await put('a.txt', text)(root);
              throw new Error('no');
            })
            .catch(() => undefined);
        } else {
          const all = does === 'edit all';
          const times = (known ?? '').split(oldText).length - 1;
          const told = await callTool(workspace, 'edit_file', { path, oldText, newText: text, all }, call());
          const isDone = times === 1 || (all && times > 1);
          if (isDone) expect(told).toEqual({ path, replaced: times });
          else
            expect(told).toContain(
              known === undefined ? 'no such file' : times === 0 ? 'not in it' : `${times} times`,
            );
          if (isDone)
            model.set(
              path,
              (known ?? '').replaceAll(oldText, () => text),
            );
        }
        expect(await filesOf(workspaces[(1 - on) as 0 | 1], call())).toEqual(Object.fromEntries(model));
      }
    }),
    { numRuns: inTier(12, 200) },
  );
});
