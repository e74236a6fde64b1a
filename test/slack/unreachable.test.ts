import { Client, Connection } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { type ServedGateway, serveGateway } from '../../src/gateway/index.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { PostgresStore } from '../../src/store/postgres-store.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { CuttableLine } from '../setup/cuttable-line.ts';
import { inTier, isDeep } from '../setup/tier.ts';
import { until } from '../setup/until.ts';
import {
  buttonsOf,
  drawnIn,
  expectTaken,
  MIRA,
  OTTO,
  openSlackScene,
  type SlackScene,
  toldTo,
} from './slack-scene.ts';

const GENERAL = 'C0GENERAL';

describe.each(inTier(['the store'], ['the store', 'Temporal']))('a gateway that can’t reach %s', (what) => {
  let scene: SlackScene;
  let storeLine: CuttableLine;
  let temporalLine: CuttableLine;
  let line: CuttableLine;
  let store: PostgresStore;
  let connection: Connection;
  let gateway: ServedGateway;

  beforeAll(async () => {
    scene = await openSlackScene({ embedded: true });
    const { temporal, store: own } = scene.environment;
    const { address } = (temporal.connection as Connection).options;
    storeLine = await CuttableLine.toPath(own.socket ?? '');
    temporalLine = await CuttableLine.toPort(Number(new URL(`tcp://${address}`).port));
    line = what === 'Temporal' ? temporalLine : storeLine;
    store = await openStore({ socket: storeLine.path });
    connection = await Connection.connect({
      address: `127.0.0.1:${temporalLine.port}`,
      interceptors: retriesUntilClosed(),
    });
    gateway = await serve();
  });
  afterEach(() => line.mend());
  afterAll(async () => {
    await gateway.close();
    await connection.close();
    await store.close();
    await storeLine.close();
    await temporalLine.close();
    await scene.close();
  });

  async function serve(): Promise<ServedGateway> {
    const { namespace } = scene.environment.temporal.options;
    const temporal = new Client({ connection, namespace });
    const client = new HoldfastClient({ temporal, store, searchAttributes: true });
    return await serveGateway({ gateway: scene.newGateway({ client, records: store }) });
  }

  test('takes a click, tells whoever has clicked that it takes long, and decides once it can [slack.outage]', async () => {
    const asked = await scene.ask('pay');
    const { message, request } = asked;
    line.cut();
    await expectTaken(scene.slack.click(gateway.url, { message, action: 'Approve', user: MIRA }));
    await until(() => expect(toldTo(scene, MIRA).join()).toContain('takes longer than usual'));
    expect(await scene.now(asked)).toMatchObject({ status: 'pending', votes: [] });
    line.mend();
    await until(() => expect(scene.ran).toContain(`${request.callKey} 700`));
    // Temporal may have taken it before it could answer.
    await until(() =>
      expect(toldTo(scene, MIRA).join()).toMatch(/You have approved it|Your approval is saved/),
    );
    await until(() => expect(buttonsOf(message)).toEqual([]));
    expect(await scene.now(asked)).toMatchObject({
      votes: [{ by: { principal: 'mira', channel: 'slack' } }],
    });
  });

  if (isDeep) {
    test('and is closed: whoever has clicked is told that nothing was decided, and clicks again [slack.outage]', async () => {
      const asked = await scene.ask('pay');
      const { message, request } = asked;
      const closing = await serve();
      line.cut();
      await expectTaken(scene.slack.click(closing.url, { message, action: 'Approve', user: OTTO }));
      await until(() => expect(toldTo(scene, OTTO).join()).toContain('takes longer than usual'));
      await closing.close();
      expect(toldTo(scene, OTTO).at(-1)).toMatch(
        /Nothing was decided: .* try again later|The result isn’t known: .* click again/i,
      );
      expect(await scene.now(asked)).toMatchObject({ status: 'pending', votes: [] });
      expect(buttonsOf(message)).toContain('approve');
      line.mend();
      await expectTaken(scene.slack.click(gateway.url, { message, action: 'Approve', user: OTTO }));
      await until(() => expect(scene.ran).toContain(`${request.callKey} 700`));
      await until(() => expect(drawnIn(message)).toContain('Approved by otto'));
    });
  }

  if (isDeep) {
    test('takes a command and a reply, and asks both once it can [slack.outage]', async () => {
      const text = `what about ${what}?`;
      const command = { user: MIRA, channel: GENERAL, command: '/ask', text };
      line.cut();
      await expectTaken(scene.slack.command(gateway.url, command));
      await until(() => expect(toldTo(scene, MIRA).join()).toContain('takes longer than usual'));
      line.mend();
      const inThread = () => {
        const first = scene.slack.messages.find((one) => drawnIn(one).includes(text));
        const threadTs = first?.ts;
        return {
          threadTs,
          said: scene.slack.messages.filter((one) => one.threadTs === threadTs).map(drawnIn),
        };
      };
      await until(() =>
        expect(inThread()).toMatchObject({ threadTs: expect.any(String), said: [`You said: ${text}`] }),
      );
      const { threadTs = '' } = inThread();
      line.cut();
      await expectTaken(
        scene.slack.reply(gateway.url, { user: MIRA, channel: GENERAL, threadTs, text: 'still?' }),
      );
      expect(inThread().said).toHaveLength(1);
      line.mend();
      await until(() => expect(inThread().said[1]).toBe('You said: still?'));
    });
  }
});
