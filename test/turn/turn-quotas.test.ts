import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { OwnModel, saying } from '../setup/own-model.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const own = new OwnModel();
const rootAgent = new LlmAgent({ name: 'clerk', model: own });
const shop = new App({
  name: 'shop',
  rootAgent,
  durable: { limits: { runningTurns: { perApp: 3, perUser: 2 } } },
});

describe('quotas of running turns', () => {
  let environment: TurnEnvironment;

  beforeAll(async () => {
    environment = await openTurnEnvironment({ apps: [shop, new App({ name: 'test', rootAgent })] });
  });
  beforeEach(async () => {
    own.respond = async () => saying('done');
    await sql`delete from holdfast.turn_slots`.execute(environment.store.db);
  });
  afterAll(() => environment.close());

  const send = (userId: string, sessionId: string = randomUUID()) =>
    environment.client.sendMessage({ app: 'shop', userId, sessionId, message: 'go' });
  const pendingFailure = async (workflowId: string) => {
    const { raw } = await environment.temporal.workflow.getHandle(workflowId).describe();
    return raw.pendingActivities?.[0]?.lastFailure?.message;
  };
  const slots = async () =>
    (await sql`select from holdfast.turn_slots where not lapsed`.execute(environment.store.db)).rows.length;

  test('no more turns run than may, others wait and end all the same [limit.fairness]', async () => {
    const asked: { userId: string; answer(): void }[] = [];
    let most = 0;
    let mostOfOne = 0;
    own.respond = ({ contents }) =>
      new Promise((resolve) => {
        const userId = contents.at(-1)?.parts?.[0]?.text ?? '';
        asked.push({ userId, answer: () => resolve(saying('done')) });
        most = Math.max(most, asked.length);
        mostOfOne = Math.max(mostOfOne, asked.filter((other) => other.userId === userId).length);
      });
    const handles = await Promise.all(
      Array.from({ length: 9 }, (_, nth) => {
        const userId = `user-${nth % 3}`;
        return environment.client.sendMessage({
          ...{ app: 'shop', userId, sessionId: randomUUID() },
          message: userId,
        });
      }),
    );
    for (const _ of handles) {
      await expect.poll(() => asked.length).toBeGreaterThan(0);
      asked.shift()?.answer();
    }
    for (const handle of handles) {
      expect(await handle.result()).toMatchObject({ status: 'completed', text: 'done' });
    }
    expect(most).toBeLessThanOrEqual(3);
    expect(mostOfOne).toBeLessThanOrEqual(2);
    expect(await slots()).toBe(0);
  });

  if (isDeep) {
    test('a turn that waits says so, and begins once another has ended or was given up [limit.fairness]', async () => {
      const answers: (() => void)[] = [];
      own.respond = () => new Promise((resolve) => answers.push(() => resolve(saying('done'))));
      const first = await send('ada');
      await expect.poll(() => answers.length).toBe(1);
      const second = await send('ada');
      await expect.poll(() => answers.length).toBe(2);
      const third = await send('ada');
      const ofUser = 'waits: the user has 2 of 2 turns of app shop running';
      await expect.poll(() => pendingFailure(third.workflowId)).toBe(ofUser);
      const other = await send('bob');
      await expect.poll(() => answers.length).toBe(3);
      const last = await send('eve');
      const ofApp = 'waits: app shop has 3 of 3 turns running';
      await expect.poll(() => pendingFailure(last.workflowId)).toBe(ofApp);
      // Nothing of a turn that waits is in the store: its time has not begun.
      expect(
        await environment.store.turns.findInvocation(namesOf('eve', last), last.invocationId),
      ).toBeUndefined();
      answers[2]?.();
      expect(await other.result()).toMatchObject({ status: 'completed' });
      await expect.poll(() => answers.length).toBe(4);
      answers[3]?.();
      expect(await last.result()).toMatchObject({ status: 'completed' });

      // Dead: nobody ends it.
      await environment.temporal.workflow.getHandle(first.workflowId).terminate();
      await sql`update holdfast.turn_slots set seen_at = seen_at - interval '11 minutes'
      where invocation_id = ${first.invocationId}`.execute(environment.store.db);
      await sql`update holdfast.runs set created_at = created_at - interval '11 minutes'
      where invocation_id = ${first.invocationId}`.execute(environment.store.db);
      await sql`update holdfast.ledger set started_at = started_at - interval '11 minutes'
      where run_key = ${first.invocationId}`.execute(environment.store.db);
      await expect.poll(() => answers.length).toBe(5);
      answers[1]?.();
      answers[4]?.();
      expect(await second.result()).toMatchObject({ status: 'completed' });
      expect(await third.result()).toMatchObject({ status: 'completed' });

      function namesOf(userId: string, { workflowId }: { workflowId: string }) {
        return { app: 'shop', userId, sessionId: workflowId.split('/')[2] ?? '' };
      }
    });
  }

  test('messages that queue in one session take one slot after another', async () => {
    const names = { app: 'shop', userId: 'ada', sessionId: randomUUID() };
    const handles = [];
    for (let nth = 0; nth < 4; nth += 1) {
      handles.push(await environment.client.sendMessage({ ...names, message: `${nth}` }));
    }
    for (const handle of handles) expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(await slots()).toBe(0);
  });

  test('an app without a quota asks the store for none, and a cancelled turn that waits frees nothing', async () => {
    const answers: (() => void)[] = [];
    own.respond = () => new Promise((resolve) => answers.push(() => resolve(saying('done'))));
    const ran = [await send('ada'), await send('ada')];
    await expect.poll(() => answers.length).toBe(2);
    const waiting = await send('ada');
    await expect.poll(() => pendingFailure(waiting.workflowId)).toContain('waits:');
    await environment.temporal.workflow.getHandle(waiting.workflowId).cancel();
    await expect(waiting.result()).rejects.toThrow('cancelled');
    expect(await slots()).toBe(2);
    own.respond = async () => saying('free');
    expect((await environment.run({ message: 'go' })).result).toMatchObject({ text: 'free' });
    for (const answer of answers) answer();
    for (const handle of ran) await handle.result();
    expect(await slots()).toBe(0);
  });
});
