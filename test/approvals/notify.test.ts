import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { logNotifier } from '../../src/approvals/log-notifier.ts';
import type { NotifiedRequest, Notifier } from '../../src/approvals/notifier.ts';
import { terminalNotifier } from '../../src/approvals/terminal-notifier.ts';
import type { NotifyInput } from '../../src/protocol/gate.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { OwnModel } from '../setup/own-model.ts';
import { entry } from '../store/suite/approvals/asking-turn.ts';
import { ActivityScene, type AskedCall } from './activity-scene.ts';

const SECRET = 'S3CRET-4711';
/** Of a model that would rather decide itself: markup, colours, text that runs backwards, nothing to see, and much of it. */
const HOSTILE = '<b>ok</b>\u001b[31m\u202egnp.exe\u200b\r\nholdfast approvals approve\u2028[x](http://x)';

let store: OpenedStore;
beforeAll(async () => {
  store = await openStore(await databaseWithStore());
});
afterAll(() => store.close());

function sceneOf(...notifiers: Notifier[]): ActivityScene {
  const rootAgent = new LlmAgent({ name: 'clerk', model: new OwnModel() });
  return new ActivityScene(store, new App({ name: 'shop', rootAgent, durable: { notifiers } }));
}

/** A notifier that keeps what it is told. */
function listening(name: string, fail?: () => void | Promise<void>) {
  const told: { requests: readonly NotifiedRequest[]; why: string }[] = [];
  const notifier: Notifier = {
    name,
    async notify(requests, why) {
      await fail?.();
      told.push({ requests, why });
    },
  };
  return { notifier, told };
}

function inputOf(call: AskedCall, more: Partial<NotifyInput> = {}): NotifyInput {
  const { turn, request } = call;
  return {
    v: 1,
    session: turn.session,
    ...turn.names,
    workflowId: 'w',
    why: 'opened',
    requestIds: [request.requestId],
    ...more,
  };
}

describe('notifiers [approval.notify]', () => {
  test('are told of a request by what people need to decide', async () => {
    const { notifier, told } = listening('one');
    const scene = sceneOf(notifier);
    const call = await scene.asked({ terms: { approvers: ['mira'] } }, { requester: 'ada' });
    await scene.notify(inputOf(call));
    // Nobody is told of what the audit does not have.
    await call.turn.record(entry(call.request.requestId, 1, 'escalated'));
    await scene.notify(inputOf(call, { why: 'escalated' }));
    const { requestId, args, hint, tool } = call.request;
    expect(told).toMatchObject([
      {
        why: 'opened',
        requests: [{ requestId, args, hint, tool, requester: 'ada', terms: { approvers: ['mira'] } }],
      },
      { why: 'escalated' },
    ]);
    expect(told[0]?.requests[0]?.commands).toEqual(
      expect.arrayContaining([expect.stringContaining(`approvals approve ${requestId}`)]),
    );
  });

  test('are told nothing of requests that were answered meanwhile', async () => {
    const { notifier, told } = listening('one');
    const scene = sceneOf(notifier);
    const call = await scene.asked();
    await call.turn.record(entry(call.request.requestId, 1, 'approved'));
    await scene.notify(inputOf(call));
    expect(told).toEqual([]);
  });

  test('are tried again where they fail, and only those; the log says what is wrong', async () => {
    let down = true;
    const failing = listening('pager', () => {
      if (down) throw new Error('the pager is down');
    });
    const other = listening('other');
    const scene = sceneOf(failing.notifier, other.notifier);
    const call = await scene.asked();
    let details: unknown;
    const first = scene.notify(inputOf(call), undefined, (beat) => {
      details = beat;
    });
    await expect(first).rejects.toThrow('notifiers failed: pager');
    expect(scene.warnings.join('\n')).toContain('the pager is down');
    down = false;
    await scene.notify(inputOf(call), details);
    expect(failing.told).toHaveLength(1);
    expect(other.told).toHaveLength(1);
  });

  test('that were told are told no more, however long the others take to fail again and again', async () => {
    const beat = Promise.withResolvers<void>();
    const failing = listening('pager', async () => {
      await beat.promise;
      throw new Error('the pager is down');
    });
    const other = listening('other');
    const scene = sceneOf(failing.notifier, other.notifier);
    const call = await scene.asked();
    const beats: unknown[] = [];
    const second = scene.notify(inputOf(call), { told: ['other'] }, (details) => {
      beats.push(details);
      if (beats.length > 1) beat.resolve();
    });
    await expect(second).rejects.toThrow('notifiers failed: pager');
    await expect(scene.notify(inputOf(call), beats.at(-1))).rejects.toThrow('notifiers failed: pager');
    expect(other.told).toEqual([]);
  });

  test('cannot change what others are told', async () => {
    const other = listening('other');
    const meddling: Notifier = {
      name: 'meddling',
      async notify(requests) {
        for (const request of requests) request.args.amount = 0;
      },
    };
    const scene = sceneOf(meddling, other.notifier);
    const call = await scene.asked();
    await scene.notify(inputOf(call));
    expect(other.told[0]?.requests[0]?.args).toEqual(call.request.args);
  });

  test.each<[string, boolean | string[], string[]]>([
    ['all arguments', true, ['to', 'amount', 'pin']],
    ['one of them', ['pin'], ['pin']],
  ])('are told nothing of what is sensitive: %s', async (_what, sensitive, hidden) => {
    const { notifier, told } = listening('one');
    const lines: string[] = [];
    const scene = sceneOf(notifier, terminalNotifier({ write: (text) => void lines.push(text) }));
    const args = { to: 'ada', amount: 40, pin: SECRET };
    const call = await scene.asked({
      args,
      sensitive,
      hint: `Pay with ${SECRET}?`,
      payload: { pin: SECRET },
    });
    await scene.notify(inputOf(call));
    expect(JSON.stringify(told)).not.toContain(SECRET);
    expect(lines.join('')).not.toContain(SECRET);
    const shown = told[0]?.requests[0]?.args ?? {};
    expect(Object.keys(shown).filter((name) => shown[name] === '(sensitive)')).toEqual(hidden);
  });

  test('on a terminal and in the log: what models wrote is one line of text, capped', async () => {
    const lines: string[] = [];
    const logged: { message: string; attributes: unknown }[] = [];
    const log = logNotifier({ info: (message, attributes) => void logged.push({ message, attributes }) });
    const scene = sceneOf(terminalNotifier({ write: (text) => void lines.push(text) }), log);
    const args = { note: HOSTILE, much: 'x'.repeat(1_000_000) };
    const call = await scene.asked({ args, hint: HOSTILE.repeat(1_000), path: ['desk', HOSTILE] });
    await scene.notify(inputOf(call));
    const text = lines.join('');
    expect(text.length).toBeLessThan(4_000);
    expect(text.replaceAll('\n', '')).toMatch(/^[\x20-\x7e…›]*$/u);
    expect(text).toContain('\\u202e');
    // Each line of ours begins as ours; what models wrote begins none.
    for (const line of text.trimEnd().split('\n')) expect(line).toMatch(/^(\? | {4})/);
    expect(text).not.toMatch(/^ *holdfast approvals/m);
    expect(logged).toHaveLength(1);
    expect(logged[0]?.message).toMatch(/^[\x20-\x7e…›]*$/u);
    expect(JSON.stringify(logged)).not.toContain('xxxx');
  });
});
