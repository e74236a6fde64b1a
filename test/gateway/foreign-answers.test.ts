import { describe, expect, test } from 'vitest';
import { GatewayUnreachable } from '../../src/client/client-errors.ts';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import { TOKEN } from './gateway-stub.ts';

const NAMES = { app: 'shop', userId: 'ada', sessionId: 's1' };
const TOLD = {
  workflowId: 'shop/ada/s1',
  runId: 'r1',
  invocationId: 'e-1',
  messageId: 'm1',
  taskQueue: 'holdfast',
  attached: false,
  disposition: 'started',
  links: { result: '/r', events: '/e', receipt: '/t', session: '/s' },
};
const PAGE = '<title>Sign in</title>';
const event = (seq: number) => `id: ${seq}\nevent: event\ndata: {"seq":${seq}}\n\n`;

/** A client that gets these answers in turn, and the last of them again and again. */
function clientOf(answers: (() => Response)[], patience = 0): GatewayClient {
  let count = 0;
  const answer = async () => {
    const next = answers[Math.min(count++, answers.length - 1)];
    return next === undefined ? Response.error() : next();
  };
  return new GatewayClient({
    url: 'http://gateway.test',
    token: TOKEN,
    patience,
    fetch: answer as typeof fetch,
  });
}

async function seqs(client: GatewayClient): Promise<number[]> {
  const seen: number[] = [];
  for await (const { seq } of client.follow(NAMES)) seen.push(seq);
  return seen;
}

describe('what answers in the place of a gateway', () => {
  test.each(['null', '[]', '{}', '"ok"', PAGE])('is told from one by its answer: %s', async (body) => {
    const client = clientOf([() => new Response(body)]);
    const asked = [
      () => client.about(),
      () => client.status(NAMES),
      () => client.sessions.list({ app: 'shop' }),
      () => client.sessions.get(NAMES),
      async () =>
        await (
          await clientOf([() => Response.json(TOLD), () => new Response(body)]).turn({
            ...NAMES,
            messageId: 'm1',
          })
        )?.result(),
    ];
    for (const ask of asked) await expect(ask()).rejects.toBeInstanceOf(GatewayUnreachable);
  });

  test('and is no gateway\u2019s is waited out by who follows [gateway.events]', async () => {
    const client = clientOf(
      [
        () => new Response(event(1)),
        () => new Response(PAGE, { status: 500 }),
        () => new Response(PAGE, { status: 404 }),
        () => new Response(`${event(2)}event: end\ndata: {}\n\n`),
      ],
      60_000,
    );
    expect(await seqs(client)).toEqual([1, 2]);
  });

  test.each(['event', 'error'])('is none where an %s is no JSON [gateway.events]', async (name) => {
    const client = clientOf([() => new Response(`event: ${name}\ndata: hunter2\n\n`)]);
    await expect(seqs(client)).rejects.toThrow('has sent an event that is no JSON');
  });

  test('asks for more patience than there is in vain', async () => {
    const busy = () => new Response(PAGE, { status: 503, headers: { 'retry-after': '60' } });
    const client = clientOf([() => Response.json(TOLD), busy], 50);
    const turn = await client.turn({ ...NAMES, messageId: 'm1' });
    // Of this test's time the sixty seconds would be too much.
    await expect(turn?.result()).rejects.toBeInstanceOf(GatewayUnreachable);
    await expect(seqs(clientOf([busy], 50))).rejects.toBeInstanceOf(GatewayUnreachable);
  });
});

test('a token that no header can hold is refused before anything quotes it [gateway.local]', () => {
  const url = 'http://127.0.0.1:9';
  for (const token of [`${TOKEN}\n${TOKEN}`, `${TOKEN}…`]) {
    const refused = () => new GatewayClient({ url, token });
    expect(refused).toThrow(/GatewayClient: token: expected ASCII/);
    expect(refused).not.toThrow(TOKEN);
  }
  // As a file of it ends.
  expect(() => new GatewayClient({ url, token: `${TOKEN}\n` })).not.toThrow();
});
