import { afterAll, beforeAll, expect, test } from 'vitest';
import { LlmAgent, LongRunningFunctionTool } from '../../src/index.ts';
import { call, calls, type TestEnvironment, text } from '../../src/testing/index.ts';
import { openPlacedEnvironment } from '../setup/placed-environment.ts';
import { contentsOf } from '../setup/scripts.ts';
import { inTier } from '../setup/tier.ts';

/** Of two models: the second one wants its thought signatures back. */
const MODELS = ['gemini-2.5-flash', 'gemini-3-flash-preview'] as const;
let callback: { url: string; token: string } | undefined;

let env: TestEnvironment;
beforeAll(async () => {
  const render = () =>
    new LongRunningFunctionTool({
      name: 'render',
      description: 'Renders.',
      execute: (_args, { job }) => {
        callback = { url: job.callbackUrl, token: job.token };
        return { status: 'pending' };
      },
    });
  env = await openPlacedEnvironment({
    agents: MODELS.map(
      (model) => new LlmAgent({ name: model.replaceAll('.', '-'), model, tools: [render()] }),
    ),
  });
});
afterAll(() => env.close());

interface Waiting {
  names: { userId: string; sessionId: string };
  jobId: string;
  callId: string;
}

const respond = (callId: string, response: Record<string, unknown>, more: object = {}) => ({
  role: 'user',
  parts: [{ functionResponse: { id: callId, name: 'render', response, ...more } }],
});

const WAYS: readonly [string, (waiting: Waiting) => Promise<unknown>][] = [
  ['an operator', ({ jobId }) => env.client.jobs.complete(jobId, { result: { url: 'u' } })],
  [
    'a callback',
    async () => {
      const { url = '', token = '' } = callback ?? {};
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ result: { url: 'u' } });
      expect((await fetch(`${url}/complete`, { method: 'POST', headers, body })).status).toBe(200);
    },
  ],
  [
    'a message',
    ({ names, callId }) =>
      env.client.sendMessage({ app: 'test', ...names, message: respond(callId, { url: 'u' }) }),
  ],
  [
    'an update by a message',
    ({ names, callId }) =>
      env.client.sendMessage({
        app: 'test',
        ...names,
        message: respond(callId, { url: 'u' }, { willContinue: true }),
      }),
  ],
];

let made = 0;
test.each(
  MODELS.slice(0, inTier(1, MODELS.length)).flatMap((model) => WAYS.map(([by, end]) => ({ model, by, end }))),
)(
  'what was said since the call is seen in the turn of its outcome, which comes by $by, with $model [contents.late] [job.detach]',
  async ({ model, end }) => {
    made += 1;
    const names = { userId: 'ada', sessionId: `s${made}` };
    const run = (message: string) => env.run({ ...names, message, agent: model.replaceAll('.', '-') });
    env.gemini.reset([call('render'), text('Started.'), text('Noted.'), text('Voilà.'), text('De rien.')]);
    await run('render');
    await run('when it is there, answer in French');
    const [job] = await env.client.jobs.list({ app: 'test', ...names });
    await end({ names, jobId: job?.jobId ?? '', callId: job?.callId ?? '' });
    await env.gemini.waitForRequests(4);
    const contents = (n: number) =>
      contentsOf(env.gemini.requests[n]).map(({ role, parts = [] }) => [
        role,
        ...parts.map((part) => part.text ?? part.functionCall?.name ?? part.functionResponse?.response),
      ]);
    const told = [
      ['user', 'render'],
      ['model', 'Started.'],
      ['user', 'when it is there, answer in French'],
      ['model', 'Noted.', 'render'],
      ['user', { url: 'u' }],
    ];
    expect(contents(3)).toEqual(told);
    await run('thanks');
    // What came before stays as it was.
    expect(contents(4)).toEqual([...told, ['model', 'Voilà.'], ['user', 'thanks']]);
    expect(env.gemini.refusals).toEqual([]);
  },
);

test('an outcome of one of several calls stands among theirs, with what was said since [contents.late] [contents.pairs]', async () => {
  const names = { userId: 'ada', sessionId: 'several' };
  const agent = MODELS[1].replaceAll('.', '-');
  env.gemini.reset([
    calls([{ name: 'render' }, { name: 'render' }]),
    text('Both started.'),
    text('Noted.'),
    text('One is there.'),
    text('Both are.'),
  ]);
  await env.run({ ...names, agent, message: 'render two' });
  await env.run({ ...names, agent, message: 'be brief' });
  // Both began at once: the list has them in either order.
  const jobs = await env.client.jobs.list({ app: 'test', ...names });
  for (const [n, { jobId }] of jobs
    .toSorted((one, other) => (one.callKey < other.callKey ? -1 : 1))
    .entries()) {
    await env.client.jobs.complete(jobId, { result: { n } });
    await env.gemini.waitForRequests(4 + n);
  }
  const contents = contentsOf(env.gemini.requests.at(-1));
  expect(contents.map(({ role }) => role)).toEqual([...['user', 'model', 'user', 'model', 'user']]);
  const responses = contents.at(-1)?.parts?.map((part) => part.functionResponse?.response);
  expect(responses).toEqual([{ n: 0 }, { n: 1 }]);
  expect(JSON.stringify(contents)).toContain('be brief');
  expect(env.gemini.refusals).toEqual([]);
});
