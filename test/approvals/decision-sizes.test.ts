import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { OwnModel } from '../setup/own-model.ts';
import { ActivityScene } from './activity-scene.ts';

let store: OpenedStore;
let scene: ActivityScene;

beforeAll(async () => {
  store = await openStore(await databaseWithStore());
  const rootAgent = new LlmAgent({ name: 'clerk', model: new OwnModel() });
  scene = new ActivityScene(store, new App({ name: 'shop', rootAgent }));
});
afterAll(() => store.close());

describe('a reason', () => {
  test('of as many characters as the contract takes is kept whole [approval.audit]', async () => {
    const call = await scene.asked();
    const reason = '😀'.repeat(2_000);
    expect(await call.confirm({ confirmed: true, reason })).toMatchObject({ counts: true });
    expect((await call.row()).history).toMatchObject([{ kind: 'voted', reason }]);
  });

  test('that is longer is refused, never cut [approval.audit]', async () => {
    const call = await scene.asked();
    expect(await call.confirm({ confirmed: true, reason: '😀'.repeat(2_001) })).toMatchObject({
      counts: false,
      reason: expect.stringMatching(/^reason: 2001 characters, at most 2000 are allowed/),
    });
    expect((await call.row()).votes).toEqual([]);
  });
});

describe('an answer', () => {
  test.each([
    [32_000, true],
    [33_000, false],
  ])('of %s bytes counts: %s, as approvals.provideInput takes it [input.request]', async (bytes, counts) => {
    const call = await scene.asked({ kind: 'input' });
    const verdict = await call.verify(call.input({ input: { response: 'x'.repeat(bytes) } }));
    expect(verdict).toMatchObject({ counts });
    if (!counts) expect(verdict).toMatchObject({ reason: expect.stringContaining('at most 32768') });
  });
});
