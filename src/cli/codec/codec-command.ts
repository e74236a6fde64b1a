import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { cors } from 'hono/cors';
import { outliveErrors } from '../../net/outlive-errors.ts';
import { UsageError } from '../cli-error.ts';
import type { InFolder } from '../connect-folder.ts';
import { loadDataConverter } from '../environment/data-converter.ts';
import { knownUi } from '../environment/places.ts';
import { stopSignals } from '../environment/stop-signals.ts';
import { listening } from '../listening.ts';

const { Payloads } = proto.temporal.api.common.v1;

/** Bytes. A page of a history has at most about as many. */
const LONGEST_BODY = 64 * 1024 * 1024;

const HOST = '127.0.0.1';

/**
 * `holdfast codec`: Temporal's codec server for the UI in the browser of this machine, until SIGINT or SIGTERM. Returns the exit code.
 *
 * @see https://docs.temporal.io/codec-server
 */
export async function codecCommand({
  port,
  token = randomBytes(16).toString('hex'),
  folder,
  env,
}: InFolder<{ port: number; token?: string }>): Promise<number> {
  const converter = await loadDataConverter(env);
  if (converter === undefined) {
    throw new UsageError(
      'holdfast codec decodes by your codec: set HOLDFAST_DATA_CONVERTER to the file that exports dataConverter',
    );
  }
  const ui = knownUi(env, folder)?.uiUrl;
  const app = codecServer(converter.payloadCodecs ?? [], { token, origin: ui && new URL(ui).origin });
  const server = createServer(getRequestListener(app.fetch));
  const signals = stopSignals();
  try {
    server.listen(port, HOST);
    await listening('--port', once(server, 'listening'));
    outliveErrors(server, 'the codec server');
    process.stdout.write(
      `codec endpoint for the Temporal UI${ui ? ` ${ui}` : ''}: http://${HOST}:${port}/${token}\n`,
    );
    await signals.first;
    return 0;
  } finally {
    signals.forget();
    server.close();
    server.closeAllConnections();
  }
}

/** @param options.origin of the UI whose pages may read answers: none where it isn't known. */
function codecServer(
  codecs: readonly PayloadCodec[],
  { token, origin }: { token: string; origin?: string | undefined },
): Hono {
  // Temporal's SDK encodes by the first codec first.
  const work = {
    decode: codecs.toReversed().map((codec) => codec.decode.bind(codec)),
    encode: codecs.map((codec) => codec.encode.bind(codec)),
  };
  const app = new Hono();
  app.use(cors({ origin: origin ?? [], allowMethods: ['POST'] }), bodyLimit({ maxSize: LONGEST_BODY }));
  app.post('/:token/:work{(de|en)code}', async (context) => {
    const { token: given, work: named } = context.req.param();
    if (given !== token) return context.notFound();
    let { payloads } = Payloads.fromObject(await context.req.json()) as { payloads: Payload[] };
    for (const code of work[named as keyof typeof work]) payloads = await code(payloads);
    return context.json(Payloads.toObject(Payloads.create({ payloads }), { bytes: String }));
  });
  app.onError((error, context) => context.text(error.message, 400));
  return app;
}
