import { openStore } from '../../src/store/open-store.ts';

/** Opens the store of a URL when it is told to, and says how that went. */
const [url = ''] = process.argv.slice(2);
console.log('ready');
process.stdin.once('data', async () => {
  const store = await openStore({ url, poolSize: 1 });
  await store.close();
  console.log('opened');
  process.stdin.destroy();
});
