import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openStore } from '../../src/store/open-store.ts';
import { Workspace } from '../../src/tools/workspace/workspace.ts';
import { callIn, filesIn } from './workspace-scene.ts';

const [url = '', folder = '', sessionId = ''] = process.argv.slice(2);
const store = await openStore({ url });
const workspace = new Workspace({ folder });
console.log('counts');
for (;;) {
  await workspace.use(callIn(store, sessionId), async (root) => {
    const count = Number((await filesIn(root))['0.txt'] ?? 0) + 1;
    for (let nth = 0; nth < 30; nth += 1) await writeFile(join(root, `${nth}.txt`), `${count}`);
  });
}
