import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listCorpora, loadCorpus, removeCorpus } from '../../src/cli/corpora/corpus-commands.ts';
import type { Corpora } from '../../src/client/corpora/corpora.ts';
import type { LoadCorpus, LoadedDocument } from '../../src/client/corpora/load-folder.ts';
import { storedApi } from '../../src/client/stored-api.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { PostgresStore } from '../../src/store/postgres-store.ts';
import { appKey } from '../../src/store/sessions/session-names.ts';
import { capturedOutput } from '../cli/captured-output.ts';
import { characterEmbeddings } from '../memory/character-embeddings.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { inTier } from '../setup/tier.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { madePdf } from './made-pdf.ts';

const root = temporaryFolder();
let database: Awaited<ReturnType<typeof databaseWithStore>>;
let store: PostgresStore;
let corpora: Corpora;
beforeAll(async () => {
  database = await databaseWithStore();
  store = await openStore(database);
  corpora = storedApi(store, undefined).corpora;
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

/** A folder with files, and a corpus for it. */
function place(files: Readonly<Record<string, string | Uint8Array>>) {
  const folder = join(root, randomUUID());
  const write = (path: string, content: string | Uint8Array) => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), content);
  };
  mkdirSync(folder);
  for (const [path, content] of Object.entries(files)) write(path, content);
  const names = { app: `app ${randomUUID()}`, corpus: 'handbook' };
  return { folder, write, names };
}

async function loaded(given: Pick<LoadCorpus, 'app' | 'corpus' | 'folder' | 'embeddings'>) {
  const told: LoadedDocument[] = [];
  const counts = await corpora.load({ ...given, onDocument: (document) => told.push(document) });
  const became = (what: string) => told.filter((each) => each.became === what).map(({ path }) => path);
  const problems = Object.fromEntries(
    told.flatMap((each) => (each.problem ? [[each.path, each.problem]] : [])),
  );
  return { counts, became, problems };
}

const found = async (names: { app: string; corpus: string }, query: string) =>
  (await corpora.search({ ...names, query })).map(({ text: _text, score: _score, ...citation }) => citation);

/** The text of each document, put together. */
async function texts(app: string): Promise<Record<string, string>> {
  const { rows } = await sql<{ path: string; text: string }>`
    select d.path, coalesce(string_agg(p.text, E'\n' order by p.nth), '') as text
    from holdfast.corpus_documents d join holdfast.corpora c on c.id = d.corpus_id and c.app_key = ${appKey(app)}
    left join holdfast.corpus_passages p on p.document_id = d.id where d.loaded group by d.path`.execute(
    store.db,
  );
  return Object.fromEntries(rows.map(({ path, text }) => [path, text]));
}

const HTML = `<!doctype html><html><head><title>Leave &amp; more</title><style>.zebra {}</style></head><body>
<nav>Home</nav><article><h1>Leave</h1>${'<p>Annual leave is twenty-eight days, says the handbook.</p>'.repeat(9)}
<p>Parental<b>-</b>leave is two years.</p><script>zebra()</script></article></body></html>`;

describe('a folder', () => {
  test('is read as text, Markdown, HTML and PDF, with titles, lines and pages [search.formats]', async () => {
    const { folder, names } = place({
      'notes.txt': `${'filler words\n'.repeat(300)}the mauve giraffe\n`,
      'deep/er/guide.md': '\uFEFF# The guide #\n\nTurquoise penguins.\n',
      'page.html': HTML,
      'fragment.HTM': '<p>Lonely <i>ostrich</i><p>Two',
      'odd.pdf': madePdf('\\000\\000', ['An \\000aardvark.']),
      'report.pdf': madePdf('Report of May', ['First page.', 'Second page: scarlet walrus.']),
      'отчёт.txt': 'Красный морж',
      'rows.csv': 'name,price\nheron,5\n',
    });
    expect((await loaded({ ...names, folder })).counts).toEqual({
      loaded: 8,
      unchanged: 0,
      removed: 0,
      skipped: 0,
    });
    expect(await found(names, 'mauve')).toEqual([{ path: 'notes.txt', line: expect.any(Number) }]);
    const [{ line = 0 } = {}] = await found(names, 'mauve');
    expect(line).toBeGreaterThan(200);
    expect(await found(names, 'penguin')).toEqual([
      { path: 'deep/er/guide.md', title: 'The guide', line: 1 },
    ]);
    expect(await found(names, 'walrus')).toEqual([{ path: 'report.pdf', title: 'Report of May', page: 2 }]);
    expect(await found(names, 'parental')).toEqual([{ path: 'page.html', title: 'Leave & more' }]);
    expect(await found(names, 'aardvark')).toMatchObject([{ path: 'odd.pdf' }]);
    expect(await found(names, 'zebra')).toEqual([]);
    expect(await found(names, 'ostrich')).toMatchObject([{ path: 'fragment.HTM' }]);
    expect(await found(names, 'морж')).toMatchObject([{ path: 'отчёт.txt' }]);
    expect(await found(names, 'heron')).toMatchObject([{ path: 'rows.csv' }]);
    const { 'page.html': page } = await texts(names.app);
    expect(page).toContain('handbook.\nAnnual');
    expect(page).toContain('Parental-leave is two years.');
  });

  test('is loaded again by what has changed [search.incremental]', async () => {
    const { folder, write, names } = place({
      'a.txt': 'alpha',
      'b.txt': 'beta',
      'c/d.txt': 'delta',
      'e.txt': '',
    });
    expect((await loaded({ ...names, folder })).counts.loaded).toBe(4);
    expect((await loaded({ ...names, folder })).counts).toEqual({
      loaded: 0,
      unchanged: 4,
      removed: 0,
      skipped: 0,
    });
    write('b.txt', 'gamma');
    rmSync(join(folder, 'c'), { recursive: true });
    write('f.txt', 'alpha');
    const { became } = await loaded({ ...names, folder });
    expect(['loaded', 'unchanged', 'removed'].map(became)).toEqual([
      ['b.txt', 'f.txt'],
      ['a.txt', 'e.txt'],
      ['c/d.txt'],
    ]);
    expect(await texts(names.app)).toEqual({
      'a.txt': 'alpha',
      'b.txt': 'gamma',
      'e.txt': '',
      'f.txt': 'alpha',
    });
    expect(await found(names, 'delta beta')).toEqual([]);
    await expect(loaded({ ...names, folder: `${folder}/none` })).rejects.toThrow(
      /corpora\.load: folder: ENOENT/,
    );
    expect(Object.keys(await texts(names.app))).toHaveLength(4);
  });

  test('is loaded anew with other embeddings, by which its passages are found [search.meaning]', async () => {
    const { folder, names } = place({ 'a.txt': 'The dog sleeps.', 'b.txt': 'A boat at noon.' });
    await loaded({ ...names, folder });
    const meaning = {
      model: 'meaning',
      embed: async (asked: readonly string[]) =>
        asked.map((text) => (/dog/.test(text) ? [1, 0.1] : [0.1, 1])),
    };
    expect((await loaded({ ...names, folder, embeddings: meaning })).counts.loaded).toBe(2);
    const search = { terms: [], embedding: { model: 'meaning', values: [1, 0] }, limit: 1 };
    expect(await store.corpora.search(names, search)).toMatchObject([{ path: 'a.txt', score: 1 }]);
    const failing = { model: 'odd', embed: () => Promise.reject(new Error('quota')) };
    await expect(loaded({ ...names, folder, embeddings: failing })).rejects.toThrow(/quota/);
    expect(await store.corpora.search(names, search)).toMatchObject([{ path: 'a.txt' }]);
    const large = place({ 'a.txt': 'Some words of a text. '.repeat(5_000) });
    await loaded({ ...large.names, folder: large.folder, embeddings: characterEmbeddings(64) });
    expect(await corpora.list(large.names.app)).toMatchObject([
      { documents: 1, passages: expect.any(Number) },
    ]);
    expect((await corpora.list(large.names.app))[0]?.passages).toBeGreaterThan(60);
  });

  test('has files without text, which are skipped with the reason, and keep what was loaded of them [search.unread]', async () => {
    const { folder, write, names } = place({
      'good.txt': 'good',
      'was.pdf': madePdf('', ['tapir']),
      'dir/x.txt': 'x',
    });
    await loaded({ ...names, folder });
    write('was.pdf', madePdf('', ['okapi']).subarray(0, 90));
    write('none.pdf', 'this is no PDF');
    write('empty.pdf', '');
    write('pictures.pdf', madePdf('', ['']));
    write('latin1.txt', Buffer.from('caf\xe9', 'latin1'));
    write('binary.bin', Buffer.from([0, 1, 2, 0]));
    write('binary.html', Buffer.from([0x3c, 0xff]));
    write('large.txt', '');
    truncateSync(join(folder, 'large.txt'), 20 * 1024 * 1024 + 1);
    write('.hidden/secret.txt', 'secret');
    write(`${'long/'.repeat(130)}x.txt`, 'x');
    symlinkSync('/etc/passwd', join(folder, 'link.txt'));
    symlinkSync(folder, join(folder, 'circle'));
    const server = createServer().listen(join(folder, 'socket'));
    await once(server, 'listening');
    const { counts, problems } = await loaded({ ...names, folder });
    server.close();
    expect(problems).toEqual({
      'was.pdf': expect.stringMatching(/PDF/),
      'none.pdf': expect.stringMatching(/PDF/),
      'empty.pdf': expect.stringMatching(/PDF|empty/i),
      'pictures.pdf': 'it has no text, only pictures perhaps',
      'latin1.txt': 'it is no text in UTF-8',
      'binary.bin': 'it is binary',
      'binary.html': 'it is no text in UTF-8',
      'large.txt': 'it has more than 20971520 bytes',
      [`${'long/'.repeat(130)}x.txt`]: 'its path has more than 600 characters',
      socket: 'it is no file',
    });
    expect(counts).toEqual({ loaded: 0, unchanged: 2, removed: 0, skipped: 10 });
    expect(await found(names, 'tapir')).toMatchObject([{ path: 'was.pdf' }]);
    expect(await found(names, 'secret root okapi')).toEqual([]);
  });

  test('has files and folders that may not be read: they keep what was loaded of them [search.unread]', async ({
    skip,
  }) => {
    const { folder, names } = place({ 'a.txt': 'alpha', 'closed/b.txt': 'beta', 'closed2.txt': 'gamma' });
    await loaded({ ...names, folder });
    chmodSync(join(folder, 'closed'), 0o000);
    chmodSync(join(folder, 'a.txt'), 0o000);
    const isRoot = process.getuid?.() === 0;
    skip(process.seteuid === undefined, 'this system has no users');
    if (isRoot) {
      chmodSync(root, 0o755);
      // Root may read all: for a moment this process is nobody.
      process.seteuid?.(65_534);
    }
    try {
      const { counts, problems } = await loaded({ ...names, folder });
      expect(problems).toEqual({
        'a.txt': expect.stringMatching(/EACCES/),
        closed: expect.stringMatching(/EACCES/),
      });
      expect(counts).toEqual({ loaded: 0, unchanged: 1, removed: 0, skipped: 2 });
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(join(folder, 'closed'), 0o700);
    }
    expect(Object.keys(await texts(names.app)).sort()).toEqual(['a.txt', 'closed/b.txt', 'closed2.txt']);
  });
});

test('a folder that changes while it is loaded leaves one version of each file [search.changing]', async () => {
  const lines = 3_000;
  const contentOf = (version: number) =>
    `version ${version} says the same words in each line\n`.repeat(lines - version);
  const paths = Array.from({ length: 8 }, (_none, index) => `${index}.txt`);
  const { folder, write, names } = place(Object.fromEntries(paths.map((path) => [path, contentOf(0)])));
  let version = 0;
  let isOver = false;
  const changing = (async () => {
    while (!isOver) {
      version += 1;
      const [kept = '', inPlace = ''] = [paths[version % 4], paths[4 + (version % 4)]];
      await writeFile(join(root, `${names.app}.next`), contentOf(version));
      await rename(join(root, `${names.app}.next`), join(folder, kept));
      await writeFile(join(folder, inPlace), contentOf(version));
      write(`new-${version % 3}.txt`, contentOf(version));
      rmSync(join(folder, `new-${(version + 1) % 3}.txt`), { force: true });
    }
  })();
  for (let round = 0; round < inTier(3, 20); round += 1) {
    await Promise.all([loaded({ ...names, folder }), loaded({ ...names, folder })]);
    for (const [path, text] of Object.entries(await texts(names.app))) {
      const versions = [...new Set(text.match(/(?<=version )\d+/g))];
      // A file that is written in its place is empty for a moment.
      if (text === '') expect(path).toMatch(/^[4-7]/);
      else
        expect([path, versions.length, text.split('\n').length]).toEqual([
          path,
          1,
          lines - Number(versions[0]),
        ]);
    }
  }
  isOver = true;
  await changing;
  renameSync(join(folder, '0.txt'), join(folder, 'moved.txt'));
  await loaded({ ...names, folder });
  const last = await loaded({ ...names, folder });
  expect(last.counts).toMatchObject({ loaded: 0, removed: 0, skipped: 0 });
  expect(Object.keys(await texts(names.app)).sort()).toEqual(last.became('unchanged'));
  expect(last.became('unchanged')).toContain('moved.txt');
});

test('commands say in words what they load, list and remove [search.commands]', async () => {
  const { folder, names } = place({ 'tea.md': '# Hours\nTea is at four.', 'b.bin': Buffer.from([0]) });
  const options = () => ({ app: names.app, folder: '.holdfast', env: { HOLDFAST_STORE: database.url } });
  const said = async (run: (output: ReturnType<typeof capturedOutput>) => Promise<unknown>) => {
    const output = capturedOutput();
    await run(output);
    return output;
  };
  const load = await said((output) => loadCorpus(folder, { ...options(), corpus: 'handbook' }, output));
  expect(load.lines).toEqual(['handbook: 1 loaded, 0 unchanged, 0 removed, 1 skipped']);
  expect(load.notes).toContain('skipped b.bin: it is binary');
  const again = await said((output) =>
    loadCorpus(folder, { ...options(), corpus: 'handbook', json: true }, output),
  );
  expect(again.values()).toEqual([{ loaded: 0, unchanged: 1, removed: 0, skipped: 1 }]);
  const listed = await said((output) => listCorpora(options(), output));
  expect(listed.lines.join('\n')).toMatch(/CORPUS +DOCUMENTS +PASSAGES +CHANGED\nhandbook +1 +1 +/);
  const removed = await said((output) =>
    removeCorpus('handbook', undefined, { ...options(), yes: true }, output),
  );
  expect(removed.lines).toEqual(['removed 1 document of handbook']);
});
