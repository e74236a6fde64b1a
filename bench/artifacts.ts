import { randomBytes, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { ArtifactBytes } from '../src/artifacts/artifact-bytes.ts';
import { folderBucket } from '../src/artifacts/folder-bucket.ts';
import { openStore } from '../src/store/open-store.ts';
import { median, table } from './statistics.ts';

/**
 * Artifacts saved and read, against plain writes to the same place: rows of bytes in the same database, files in the same folder. Both in
 * turns, medians.
 */
const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '15' }, url: { type: 'string' } },
});
const MIB = 1024 * 1024;
const SIZES = [
  { size: 1024, name: '1 KiB', rounds: Number(options.rounds) },
  { size: MIB, name: '1 MiB', rounds: Number(options.rounds) },
  { size: 100 * MIB, name: '100 MiB', rounds: Math.ceil(Number(options.rounds) / 5) },
];

const folder = mkdtempSync(join(tmpdir(), 'holdfast-artifacts-bench-'));
const store = await openStore(
  options.url === undefined ? { folder: join(folder, 'store') } : { url: options.url },
);
const names = { app: 'bench', userId: 'ada', sessionId: randomUUID() };

interface Place {
  name: string;
  write(content: Buffer): Promise<string>;
  read(id: string): Promise<number>;
}

async function* blocks(content: Buffer): AsyncGenerator<Buffer, void, void> {
  for (let at = 0; at < content.length; at += MIB) yield content.subarray(at, at + MIB);
}

async function sizeOf(source: AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0;
  for await (const block of source) size += block.length;
  return size;
}

function ours(name: string, bytes: ArtifactBytes): Place {
  return {
    name,
    async write(content) {
      const { blob } = await bytes.keep(names.app, blocks(content));
      await store.artifacts.save({
        ...names,
        name: 'a.bin',
        content: { kind: 'inline', mimeType: 'application/octet-stream', blob },
        key: randomUUID(),
        makesSession: true,
      });
      return blob;
    },
    read: (blob) => sizeOf(bytes.read(blob)),
  };
}

await sql`create table if not exists plain_blocks (id text, nth int, bytes bytea, primary key (id, nth))`.execute(
  store.db,
);
const rows: Place = {
  name: 'rows',
  async write(content) {
    const id = randomUUID();
    let nth = 0;
    for await (const block of blocks(content)) {
      await sql`insert into plain_blocks values (${id}, ${nth}, ${block})`.execute(store.db);
      nth += 1;
    }
    return id;
  },
  async read(id) {
    let size = 0;
    for (let nth = 0; ; nth += 1) {
      const found = await sql<{
        bytes: Uint8Array;
      }>`select bytes from plain_blocks where id = ${id} and nth = ${nth}`.execute(store.db);
      const [row] = found.rows;
      if (row === undefined) return size;
      size += row.bytes.length;
    }
  },
};
const files: Place = {
  name: 'a file',
  async write(content) {
    const file = join(folder, randomUUID());
    await pipeline(
      Readable.from(blocks(content), { objectMode: false }),
      createWriteStream(file, { flush: true }),
    );
    return file;
  },
  read: (file) => sizeOf(createReadStream(file, { highWaterMark: MIB })),
};

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

try {
  const result: string[][] = [];
  const pairs: [string, Place, Place][] = [
    ['the store', rows, ours('ours', new ArtifactBytes(store.blobs))],
    [
      'a folder',
      files,
      ours('ours', new ArtifactBytes(store.blobs, { bucket: folderBucket(join(folder, 'bucket')) })),
    ],
  ];
  for (const [where, plain, own] of pairs) {
    for (const { size, name, rounds } of SIZES) {
      // The store keeps what is small, whatever the bucket.
      if (where === 'a folder' && size <= MIB) continue;
      const times = new Map<string, number[]>();
      const note = (key: string, time: number) => times.set(key, [...(times.get(key) ?? []), time]);
      for (let round = 0; round <= rounds; round += 1) {
        for (const place of round % 2 === 0 ? [plain, own] : [own, plain]) {
          const content = randomBytes(size);
          let id = '';
          const write = await timed(async () => {
            id = await place.write(content);
          });
          const read = await timed(async () => {
            if ((await place.read(id)) !== size) throw new Error(`${place.name} lost bytes`);
          });
          if (round === 0) continue;
          note(`${place.name} write`, write);
          note(`${place.name} read`, read);
        }
      }
      const ms = (key: string) => median(times.get(key) ?? []);
      const columns = ['write', 'read'].flatMap((what) => {
        const [one, other] = [ms(`${plain.name} ${what}`), ms(`ours ${what}`)];
        return [one.toFixed(1), other.toFixed(1), (other / one).toFixed(2)];
      });
      result.push([`${name} in ${where}`, ...columns]);
      console.error(result.at(-1)?.join('  '));
    }
  }
  console.log(table([['', 'write plain ms', 'ours', 'ratio', 'read plain ms', 'ours', 'ratio'], ...result]));
} finally {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}
