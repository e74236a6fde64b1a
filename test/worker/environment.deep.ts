import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { openEnvironment } from '../../worker/environment/open-environment.ts';
import { ownNamespace } from '../setup/own-namespace.ts';
import { folderWithStore, temporaryFolder } from '../store/temporary-folder.ts';

const onProgress = () => undefined;
const folder = temporaryFolder();
const stored = folderWithStore();

test('a store is made in its folder where no ready-made ones can be kept [store.embedded]', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const { address, namespace } = await ownNamespace();
  const env = {
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    HOLDFAST_CACHE: join(file, 'cache'),
  };
  const environment = await openEnvironment({ folder, env, onProgress });
  try {
    expect(await environment.store.sessions.list({ app: 'shop', limit: 1 })).toMatchObject({
      sessions: [],
    });
  } finally {
    await environment.close();
  }
});

test('a server that can’t be reached leaves no store open [temporal.unreachable]', async () => {
  const opening = openEnvironment({ folder: stored, env: { TEMPORAL_ADDRESS: '127.0.0.1:1' }, onProgress });
  await expect(opening).rejects.toMatchObject({ code: 'HOLDFAST_TEMPORAL_UNREACHABLE' });
  await (await openStore({ folder: stored })).close();
});
