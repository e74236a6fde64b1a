import { guardedFetch } from '../../src/net/guarded-fetch.ts';

/** Asks each address of the command line under a name, and says what came of it. A process of its own: an uncaught error would end it. */
for (const address of process.argv.slice(2)) {
  for (const scheme of ['https', 'http']) {
    const asked = guardedFetch(
      `${scheme}://hooks.example.com/x`,
      { method: 'POST', body: '{}' },
      { allow: ['hooks.example.com'], resolve: async () => [address], timeout: 1_000 },
    );
    await asked.then(
      ({ status }) => console.log(`${scheme} ${address} answered ${status}`),
      (error: unknown) => console.log(`${scheme} ${address} ${(error as Error).name}`),
    );
  }
}
