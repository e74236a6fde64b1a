import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOfStream } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { NativeConnection } from '@temporalio/worker';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { app, geminiScript } from '../../examples/support/agents.ts';
import { deskRequest } from '../../examples/support/desk-request.ts';
import { makeOrders } from '../../examples/support/make-orders.ts';
import { writeOrders } from '../../examples/support/order-file.ts';
import { deskPayments, Payments } from '../../examples/support/payments.ts';
import { isLlmAgent } from '../../src/agents/llm-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { type GeminiScript, reply } from '../../src/testing/index.ts';
import { Context } from '../../src/tools/context.ts';
import { createWorker, jsonLogger } from '../../worker/index.ts';
import { textOf } from '../setup/history-facts.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { isDeep, someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import type { DeskWorkerOptions } from './desk-worker-process.ts';
import type { Paid, PayingOptions } from './paying-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-support-'));
process.env.SUPPORT_PAYMENTS = join(folder, 'payments.sqlite');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = readFileSync(new URL('../../examples/support/orders.csv', import.meta.url), 'utf8');
const orders = ordersIn(file);
const programOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

interface FiledOrder {
  id: string;
  status: string;
  placed: string;
  email: string;
  charged: number;
  refunded: number;
  total: number;
  skus: string[];
}

/** Read without the example's own reader. */
function ordersIn(csv: string): FiledOrder[] {
  const found = new Map<string, FiledOrder>();
  for (const row of csv.trim().split('\n').slice(1)) {
    const cells = row.split(',');
    const [id = '', status = '', placed = '', , email = ''] = cells;
    const [shipping, charged, refunded] = cells.slice(12, 15).map(Number);
    const [quantity = 0, unit = 0] = cells.slice(16, 18).map(Number);
    const order = found.get(id) ?? {
      ...{ id, status, placed, email, skus: [] },
      ...{ charged: charged ?? 0, refunded: refunded ?? 0, total: shipping ?? 0 },
    };
    order.total += quantity * unit;
    order.skus.push(cells[15] ?? '');
    found.set(id, order);
  }
  return [...found.values()];
}

/** One call of a tool as a turn makes it; the same key for the attempts of a call. */
function callTool(
  name: string,
  args: Record<string, unknown>,
  callKey: string = randomUUID(),
): Promise<unknown> {
  const tools = isLlmAgent(app.rootAgent) ? app.rootAgent.tools : [];
  const tool = tools.find((candidate) => 'name' in candidate && candidate.name === name);
  if (tool === undefined || !('runAsync' in tool)) throw new Error(`the desk has no tool ${name}`);
  const recorded = new Map<string, unknown>();
  const once = {
    get: (key: string) => recorded.get(key),
    put: async (key: string, value: unknown) => {
      recorded.set(key, value);
      return value;
    },
  };
  const toolContext = new Context({
    ...{ appName: 'support', userId: 'ada', sessionId: 's', invocationId: 'e', agentName: 'desk', state: {} },
    call: { callId: callKey, callKey, session: 's', attempt: 1, once, heartbeat: () => undefined },
  });
  return tool.runAsync({ args, toolContext });
}

describe('orders', () => {
  test('the file is what its program makes, a few thousand orders with their awkward cases [example.support]', async () => {
    expect(writeOrders(makeOrders())).toBe(file);
    expect(orders).toHaveLength(3_000);
    expect(Buffer.byteLength(file)).toBeLessThan(700_000);
    for (const problem of ['late', 'charged_too_much', 'partly_returned', 'returned_not_refunded']) {
      const { found } = (await callTool('find_orders', { problem })) as { found: number };
      expect({ problem, found }).toEqual({ problem, found: expect.toSatisfy((n) => n > 5 && n < 300) });
    }
  });

  test('a look-up tells what the file says [example.support]', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...orders), async (order) => {
        const { id: orderId, status, placed, email, total, charged, refunded, skus } = order;
        expect(await callTool('look_up_order', { orderId })).toMatchObject({
          ...{ orderId, status, placed, customer: { email } },
          items: skus.map((sku) => ({ sku, product: expect.stringMatching(/^[A-Z][a-z]+ \S/) })),
          money: { totalCents: total, chargedCents: charged, refundableCents: charged - refunded },
        });
      }),
    );
    await expect(callTool('look_up_order', { orderId: 'FH-99999' })).rejects.toMatchObject({
      code: 'NO_SUCH_ORDER',
      retryable: false,
      message: expect.stringContaining('there is no order FH-99999'),
    });
  });

  test('the pages of a search are the orders that fit, each once, the newest first [example.support]', async () => {
    const search = { status: 'returned', from: '2026-01-01', to: '2026-03-31' };
    type Page = { found: number; pages: number; orders: { orderId: string; placed: string }[] };
    const pageOf = (page: number) => callTool('find_orders', { ...search, page }) as Promise<Page>;
    const { found, pages } = await pageOf(1);
    const listed: Page['orders'] = [];
    for (let page = 1; page <= pages; page++) listed.push(...(await pageOf(page)).orders);
    const wanted = orders
      .filter(({ status, placed }) => status === 'returned' && placed >= search.from && placed <= search.to)
      .map(({ id }) => id);
    expect(listed.map(({ orderId }) => orderId).sort()).toEqual(wanted);
    expect(found).toBe(wanted.length);
    const days = listed.map(({ placed }) => placed);
    expect(days).toEqual(days.toSorted().reverse());
    expect((await pageOf(pages + 1)).orders).toEqual([]);
  });

  test.each(someOf(['ragnhild.solbakken@example.com', 'Ragnhild Solbakken', 'SOLBAKKEN ragnhild']))(
    'a customer is found by %s [example.support]',
    async (customer) => {
      const { orders: listed } = (await callTool('find_orders', { customer })) as { orders: object[] };
      const own = orders
        .filter(({ email }) => email === 'ragnhild.solbakken@example.com')
        .map(({ id }) => id);
      expect(own).toHaveLength(3);
      expect(listed).toEqual(
        expect.arrayContaining(own.map((id) => expect.objectContaining({ orderId: id }))),
      );
    },
  );

  test('a comparison tells shared goods from others, and adds up [example.support]', async () => {
    const orderIds = ['FH-12511', 'FH-12529'];
    const totals = orders.filter(({ id }) => orderIds.includes(id)).map(({ total }) => total);
    expect(await callTool('compare_orders', { orderIds })).toMatchObject({
      sameCustomer: true,
      sameGoods: [{ sku: 'TNF-2P', quantities: { 'FH-12511': 1, 'FH-12529': 1 } }],
      otherGoods: [
        { sku: 'TN2-MO' },
        { sku: 'GAS-23', quantities: { 'FH-12511': 2, 'FH-12529': 0 } },
        { sku: 'TN2-OC' },
      ],
      totals: { togetherCents: (totals[0] ?? 0) + (totals[1] ?? 0), lowestCents: Math.min(...totals) },
    });
  });
});

test.each(
  someOf([
    ['Refund 12.50 of FH-12511', 1_250],
    ['Please refund €12,50 of FH-12511', 1_250],
    ['refund 20 of FH-12511', 2_000],
    ['Refund 20 euros of FH-12511.', 2_000],
    ['Refund FH-12511', undefined],
    ['Refund FH-12511, placed on 2026-05-18', undefined],
  ]),
)('%s: the mock server refunds what was asked for [example.support]', (message, cents) => {
  const { wantsRefund, refund } = deskRequest([message]);
  expect({ wantsRefund, ...refund }).toEqual({
    wantsRefund: true,
    orderId: 'FH-12511',
    ...(cents === undefined ? {} : { cents }),
  });
});

describe('refunds', () => {
  test('a repeated call pays once and gives the same receipt [example.support]', async () => {
    const args = { orderId: 'FH-12932', cents: 41_800, reason: 'charged_twice' };
    const first = await callTool('refund', args, 'call-1');
    expect(await callTool('refund', args, 'call-1')).toEqual(first);
    expect(first).toMatchObject({ orderId: 'FH-12932', cents: 41_800, leftCents: 41_800 });
    expect(deskPayments().of('FH-12932')).toHaveLength(1);
    expect(await callTool('refund_status', args)).toMatchObject({
      leftCents: 41_800,
      payments: [first].map(receiptOf),
    });
    expect(await callTool('look_up_order', args)).toMatchObject({ money: { refundableCents: 41_800 } });
    await expect(callTool('refund', { ...args, cents: 1 }, 'call-1')).rejects.toThrow(/belongs to R-\d+/);
  });

  test('more than is left is refused, with what is left, and nothing is paid [example.support]', async () => {
    const refund = (cents: number) => callTool('refund', { orderId: 'FH-12929', cents, reason: 'goodwill' });
    const { charged } = orders.find(({ id }) => id === 'FH-12929') ?? { charged: 0 };
    await refund(1_000);
    await expect(refund(charged)).rejects.toMatchObject({
      code: 'OVER_REFUND',
      retryable: false,
      message: expect.stringContaining(`${charged - 1_000} cents can still be refunded`),
    });
    expect(deskPayments().paidCents('FH-12929')).toBe(1_000);
    await refund(charged - 1_000);
    await expect(refund(1)).rejects.toThrow(/: 0 cents can still be refunded/);
  });

  test.each(someOf([0, -5, 12.5, 1_000_001, '1250']))(
    'an amount of %j is refused [example.support]',
    async (cents) => {
      await expect(callTool('refund', { orderId: 'FH-12923', cents, reason: 'late' })).rejects.toThrow(
        /cents/,
      );
      expect(deskPayments().of('FH-12923')).toEqual([]);
    },
  );

  test('processes that refund at once pay a key once, and no more than was charged [example.support]', async () => {
    const own = join(folder, 'own.sqlite');
    const processes = Array.from({ length: 4 }, async (_, index) => {
      const options: PayingOptions = {
        ...{ file: own, orderId: 'FH-1', atMostCents: 10_000 },
        payments: [
          { idempotencyKey: 'shared', cents: 1_500 },
          ...Array.from({ length: 5 }, (_unused, n) => ({ idempotencyKey: `${index}-${n}`, cents: 1_000 })),
          { idempotencyKey: 'shared', cents: 1_500 },
        ],
      };
      const child = spawn(process.execPath, [programOf('paying-process.ts'), JSON.stringify(options)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      return JSON.parse(await textOfStream(child.stdout)) as Paid;
    });
    const paid = await Promise.all(processes);
    const payments = new Payments(own);
    const rows = payments.of('FH-1');
    payments.close();
    expect(rows.map(({ cents }) => cents).sort()).toEqual([...Array(8).fill(1_000), 1_500]);
    const shared = rows.find(({ cents }) => cents === 1_500)?.receipt;
    expect(paid.flatMap((of) => [of.at(0), of.at(-1)])).toEqual(Array(8).fill({ receipt: shared }));
    const refused = paid.flat().filter((one) => 'leftCents' in one);
    expect(refused).toHaveLength(4 * 5 - 8);
  });
});

/** Without the pauses of an answer that is read along. */
const script: GeminiScript = async (request, info) => {
  if (typeof geminiScript !== 'function') throw new Error('the example answers with a function');
  return reply(await geminiScript(request, info), { latencyMs: 0, chunkDelayMs: 0 });
};

describe.concurrent('the desk', () => {
  let environment: TurnEnvironment;
  let connection: NativeConnection;
  let url: string;
  let store: OpenedStore;
  let stopWorker: () => Promise<void>;

  beforeAll(async () => {
    environment = await openTurnEnvironment({ apps: [app], script, embedded: true });
    ({ url } = await databaseWithStore());
    store = await openStore({ url });
    connection = await NativeConnection.connect({ address: environment.place.address });
    stopWorker = await startWorker('postgres');
  });

  afterAll(async () => {
    await stopWorker();
    await store.close();
    await connection.close();
    await environment.close();
  });

  async function startWorker(taskQueue: string): Promise<() => Promise<void>> {
    const worker = await createWorker({
      ...{ apps: [app], store, connection, namespace: environment.place.namespace, taskQueue },
      shutdownGraceTime: 0,
      logger: jsonLogger({ level: 'error' }),
    });
    const running = worker.run();
    return async () => {
      worker.shutdown();
      await running;
    };
  }

  /** Of a store that isn't the environment's own. */
  const clientOf = (taskQueue: string) =>
    new HoldfastClient({ temporal: environment.temporal, store, taskQueue });
  const newSession = () => ({ app: 'support', userId: 'ada', sessionId: randomUUID() });

  test.each(
    someOf([
      ['PGlite', ['FH-12511', 'FH-12529', 'FH-12787']],
      ['PostgreSQL', ['FH-12343', 'FH-12747', 'FH-12669']],
    ] as const),
  )(
    'on %s it looks up, compares and refunds in a turn, and refuses to pay twice [example.support]',
    async (kind, ids) => {
      const [kept, refunded, third] = ids;
      const client = kind === 'PGlite' ? environment.client : clientOf('postgres');
      const names = newSession();
      const say = async (message: string) => {
        const turn = await client.sendMessage({ ...names, message });
        const result = await turn.result();
        expect(result).toMatchObject({ status: 'completed' });
        return { said: result.text ?? '', result, turn };
      };
      const cents = orders.find(({ id }) => id === refunded)?.charged ?? 0;
      const amount = `€${(cents / 100).toFixed(2)}`;

      const first = await say(
        `Compare ${kept} and ${refunded}, refund ${refunded}, and tell me where ${third} is.`,
      );
      const [payment, ...others] = deskPayments().of(refunded);
      expect(others).toEqual([]);
      expect(payment?.cents).toBe(cents);
      expect(first.said).toContain(`${amount} of ${refunded}; the receipt is ${payment?.receipt}`);
      expect(first.said).toContain(`${third} of 2026-06-`);
      expect(first.result.usage).toMatchObject({ modelCalls: 3, cost: expect.toSatisfy((cost) => cost > 0) });
      const { store: own } = kind === 'PGlite' ? environment : { store };
      const called = (await own.sessions.readEvents(names))
        .map(
          ({ event }) => event.content?.parts?.flatMap(({ functionCall }) => functionCall?.name ?? []) ?? [],
        )
        .filter((step) => step.length > 0);
      expect(called).toEqual([
        ['look_up_order', 'look_up_order', 'look_up_order', 'compare_orders'],
        ['refund'],
      ]);

      const again = await say('Refund the second one again.');
      expect(again.said).toMatch(/^The refund was refused: .* €0\.00 can still be refunded/);
      expect(again.said).toContain(`by this desk: ${payment?.receipt} of 20`);
      expect(again.said).toContain('earlier runs are kept');
      const status = await say(`What was refunded for ${refunded}?`);
      expect(status.said).toContain(`${amount} (${payment?.receipt}, `);
      expect(deskPayments().of(refunded)).toEqual([payment]);

      const email = orders.find(({ id }) => id === kept)?.email ?? '';
      const handle = environment.temporal.workflow.getHandle(first.turn.workflowId, first.turn.runId);
      const history = textOf(await handle.fetchHistory());
      expect(history).toContain(payment?.receipt);
      expect(history).not.toContain(email);
    },
  );

  if (isDeep) {
    test('a worker that is killed behind the payment leaves one payment and its receipt [example.support]', async () => {
      const taskQueue = 'killed';
      const names = newSession();
      const options: DeskWorkerOptions = { place: environment.place, taskQueue, url };
      const doomed = spawn(process.execPath, [programOf('desk-worker-process.ts'), JSON.stringify(options)], {
        env: { ...process.env, ...environment.gemini.env },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const exited = once(doomed, 'exit');
      const turn = await clientOf(taskQueue).sendMessage({
        ...names,
        message: 'Refund FH-12825, it came back.',
      });
      const said = await Promise.race([once(doomed.stdout, 'data'), exited]);
      expect(String(said[0])).toBe('paid\n');
      const paid = deskPayments().of('FH-12825');
      expect(paid).toHaveLength(1);
      doomed.kill('SIGKILL');
      await exited;
      const stop = await startWorker(taskQueue);
      try {
        expect(await turn.result()).toMatchObject({
          status: 'completed',
          text: expect.stringContaining(`the receipt is ${paid[0]?.receipt}`),
        });
      } finally {
        await stop();
      }
      expect(deskPayments().of('FH-12825')).toEqual(paid);
    });
  }
});

function receiptOf(payment: unknown): unknown {
  const { leftCents: _, ...row } = payment as Record<string, unknown>;
  return row;
}
