import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { until } from '../setup/until.ts';
import { buttonsOf, expectTaken, MIRA, openSlackScene, toldTo } from './slack-scene.ts';

type Query = (this: pg.Client, statement: unknown, ...more: unknown[]) => unknown;

/** Where the client finds a request by its id alone; workers know its session, too. */
const FOUND = /"holdfast"\."approvals".*"request_id" = \$1 limit/s;

test('a click on Approve finds its request five times at most, is recorded once, and begins its tool by two statements [slack.approve]', async () => {
  const scene = await openSlackScene();
  onTestFinished(() => scene.close());
  const { message, request } = await scene.ask('pay');
  const send = pg.Client.prototype.query as unknown as Query;
  const asked: string[] = [];
  const spy = vi.spyOn(pg.Client.prototype, 'query');
  spy.mockImplementation(function (this: pg.Client, statement: unknown, ...more: unknown[]) {
    const { text = '' } = statement as { text?: string };
    asked.push(text);
    return send.call(this, statement, ...more);
  } as never);
  onTestFinished(() => spy.mockRestore());
  await expectTaken(scene.slack.click(scene.gateway.url, { message, action: 'Approve', user: MIRA }));
  await until(() => expect(scene.ran).toContain(`${request.callKey} 700`));
  await until(() => {
    expect(buttonsOf(message)).toEqual([]);
    expect(toldTo(scene, MIRA).join()).toContain('You have approved it.');
  });
  // Its work goes on after Slack has its answer.
  await scene.gateway.close();
  const count = (pattern: RegExp) => asked.filter((each) => pattern.test(each)).length;
  // For the click, for the decision, and for the message: as it was drawn, and as it stands then.
  expect(count(FOUND)).toBeGreaterThanOrEqual(3);
  expect(count(FOUND)).toBeLessThanOrEqual(5);
  expect(count(/holdfast\.record_signed\(/)).toBe(1);
  // The first one gives the evidence.
  expect(count(/holdfast\.begin_answered\(/)).toBe(2);
});
