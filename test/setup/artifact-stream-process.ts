import { createHash } from 'node:crypto';
import { ArtifactBytes } from '../../src/artifacts/artifact-bytes.ts';
import { openStore } from '../../src/store/open-store.ts';

const [url = '', bucket = '', gib = '1'] = process.argv.slice(2);
const MIB = 1024 * 1024;
const blocks = Number(gib) * 1024;

let most = 0;
const measure = () => {
  most = Math.max(most, process.memoryUsage.rss());
};

/** Blocks that differ, made as they are asked for. */
async function* generated(hash: ReturnType<typeof createHash>): AsyncGenerator<Uint8Array, void, void> {
  const block = Buffer.alloc(MIB, 'holdfast');
  for (let nth = 0; nth < blocks; nth += 1) {
    block.writeUInt32BE(nth, 0);
    hash.update(block);
    measure();
    yield Buffer.from(block);
  }
}

const store = await openStore({ url });
const bytes = new ArtifactBytes(store.blobs, { bucket });
const given = createHash('sha256');
const kept = await bytes.keep('shop', generated(given));
const read = createHash('sha256');
for await (const block of bytes.read(kept.blob)) {
  read.update(block);
  measure();
}
await store.close();
const [sent, got] = [given.digest('hex'), read.digest('hex')];
console.log(
  JSON.stringify({
    size: kept.size,
    isSame: sent === got && sent === kept.sha256,
    rss: Math.ceil(most / MIB),
  }),
);
