import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Connections that programs make get a port above these: none of them takes one before the test's server does. */
const FIRST = 12_000;
const LAST = 32_000;

/** A port of 127.0.0.1 on which nobody listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST);
    const server = createServer();
    try {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    } catch {
      // Somebody has it.
      continue;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}
