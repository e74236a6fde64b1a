import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isWritten } from '../setup/written.ts';
import { HoldfastProcess } from './holdfast-process.ts';
import { UserProject } from './user-project.ts';

const AGENTS = `
import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { LlmAgent, tool } from 'holdfast';
import { calls, text } from 'holdfast/testing';
import { z } from 'zod';

const pick = tool({
  name: 'pick',
  description: 'Picks a fruit.',
  parameters: z.object({ fruit: z.string() }),
  execute: ({ fruit }, ctx) => {
    console.log('picking ' + fruit);
    if (fruit === 'durian' && ctx?.attempt === 1) throw new Error('it smells');
    ctx?.state.set('picked', fruit);
    return { fruit };
  },
});

const sleep = tool({
  name: 'sleep',
  description: 'Sleeps until it is told to stop.',
  parameters: z.object({}),
  // A cancellation reaches it with a heartbeat.
  heartbeatTimeout: 1500,
  execute: async (_args, ctx) => {
    appendFileSync(process.env.EFFECTS, 'asleep ');
    await setTimeout(600_000, undefined, { signal: ctx?.abortSignal });
    return {};
  },
});

export const rootAgent = new LlmAgent({ name: 'gardener', model: 'gemini-2.5-flash', tools: [pick, sleep] });
export const helper = new LlmAgent({ name: 'helper', model: 'gemini-2.5-flash' });

export const geminiScript = (request, { functionResponses, userText }) => {
  if (request.tools === undefined) return text('The helper says ' + userText + '.');
  const [first] = functionResponses;
  if (first !== undefined) return text('Here is a ' + (first.response.fruit ?? 'dream') + '.');
  if (userText === 'sleep') return calls([{ name: 'sleep', args: {} }]);
  return calls([{ name: 'pick', args: { fruit: userText } }]);
};
`;

describe('the chat of holdfast dev', () => {
  const project = new UserProject();
  const effects = join(project.path, 'effects');
  let dev: HoldfastProcess;
  const answerTo = async (line: string, end: RegExp): Promise<string> => {
    const read = dev.stdout.length;
    dev.type(line);
    const answer = () => dev.stdout.slice(read) || (dev.isOver ? dev.stderr : '');
    await expect.poll(answer).toMatch(end);
    return answer();
  };

  beforeAll(async () => {
    const agents = project.write('agents.ts', AGENTS);
    dev = new HoldfastProcess(['dev', agents, '--session', 'first'], {
      cwd: project.path,
      env: { EFFECTS: effects },
      typed: true,
    });
    await dev.prints(/session {3}agents\/user\/first/);
  });

  afterAll(async () => {
    if (!dev.isOver) dev.kill('SIGTERM');
    await dev.finished();
    await project.remove();
  });

  test('on start it shows what there is: agents, model, pages, store [cli.dev]', () => {
    expect(dev.stderr).toMatch(/agents {4}gardener \(gemini-2\.5-flash\), helper .*gardener answers/);
    expect(dev.stderr).toMatch(/model {5}a local mock Gemini server, .*GEMINI_API_KEY is not set/);
    expect(dev.stderr).toMatch(/Temporal {2}http:\/\/127\.0\.0\.1:\d+/);
    expect(dev.stderr).toMatch(
      /gateway {3}http:\/\/127\.0\.0\.1:\d+ {2}API http:\/\/127\.0\.0\.1:\d+\/openapi\.json/,
    );
    expect(dev.stderr).toMatch(/inbox {5}http:\/\/127\.0\.0\.1:\d+\/inbox\n/);
    expect(dev.stdout).toBe('');
  });

  test('a message is answered: calls with their times, text, spend and a link to its run [cli.dev]', async () => {
    expect(await answerTo('pear', /Here is a pear\.\n/)).toBe(
      'you  pear\n' +
        '  → pick({"fruit":"pear"})\n' +
        '  ← pick {"fruit":"pear"}\n' +
        'gardener  Here is a pear.\n',
    );
    await dev.prints(
      /2 model calls · \d+ tokens · \S+ m?s · http:\S+\/workflows\/agents%2Fuser%2Ffirst\/\S+\/history/,
    );
    expect(dev.stderr).toMatch(/✓ pick 1\.0 finished in \d+ ms/);
    expect(dev.stderr).toContain('│ picking pear');
  });

  test('state, events and sessions; fork, rewind, retry and agent change what comes next [cli.dev]', async () => {
    expect(await answerTo('/state', /\n/)).toBe('  picked = "pear"\n');
    await answerTo('plum', /Here is a plum\.\n/);
    expect(await answerTo('/rewind', /\n/)).toBe('  events 5 to 8 are hidden; /events shows them\n');
    expect(await answerTo('/state', /\n/)).toBe('  picked = "pear"\n');
    expect(await answerTo('/events 2', /rewind: .*\n/)).toMatch(
      /8 .*Here is a plum\. {2}\(hidden\)\n.*9 .*rewind/s,
    );

    expect(await answerTo('/retry 1.0', /Here is a pear\.\n/)).toContain('you  (again from e-');
    expect(await answerTo('/fork 4', /\n/)).toMatch(/^ {2}session \S+: the first 4 events of first\n$/);
    const listed = await answerTo('/sessions', / first +\d+.*\n/);
    expect(listed).toMatch(/SESSION +EVENTS/);
    expect(listed).toMatch(/● .*first at 4\n/);

    await answerTo('/session second', /session second: new\n/);
    await answerTo('/agent helper', /helper answers from now on\n/);
    expect(await answerTo('hello', /The helper says hello\.\n/)).toBe(
      'you  hello\nhelper  The helper says hello.\n',
    );
    expect(await answerTo('/ui', /\n/)).toMatch(/workflows\/agents%2Fuser%2Fsecond\n$/);
    await answerTo('/agent', /helper\n/);
    await answerTo('/agent gardener', /gardener answers from now on\n/);
  });

  test('a turn is looked at, and interrupted by another message [cli.dev]', async () => {
    dev.type('sleep');
    await expect.poll(() => isWritten(effects)).toBe(true);
    expect(await answerTo('/status', /runs since .*\n/)).toMatch(
      /running: gardener, step 1.*\n {2}sleep e-\S+ runs since/,
    );
    expect(await answerTo('/interrupt fig', /Here is a fig\.\n/)).toContain('you  fig\n');
    expect(dev.stderr).toContain('  interrupted\n');
  });

  test('a call is cancelled, and the turn goes on [cli.dev]', async () => {
    await answerTo('sleep', /→ sleep/);
    await expect.poll(() => readFileSync(effects, 'utf8')).toBe('asleep asleep ');
    await answerTo('/cancel 1.0', /Here is a dream\.\n/);
    expect(dev.stderr).toMatch(/✗ sleep 1\.0 failed/);
  });

  test('a call that fails and is tried again says why [cli.dev]', async () => {
    await answerTo('durian', /Here is a durian\.\n/);
    expect(dev.stderr).toMatch(/│ +pick 1\.0 failed: Error in tool 'pick': it smells\n.*started, attempt 2/s);
  });

  test('an embedded server that dies is brought back, and the turn and the chat go on [cli.dev]', async () => {
    const { temporal } = JSON.parse(readFileSync(join(project.folder, 'dev.json'), 'utf8'));
    await answerTo('sleep', /→ sleep/);
    await expect.poll(() => readFileSync(effects, 'utf8')).toBe('asleep asleep asleep ');
    process.kill(temporal.pid, 'SIGKILL');
    await dev.prints(/the Temporal server is up again: turns go on/);
    expect(dev.stderr).toMatch(/the Temporal server has ended: it is started again/);
    await answerTo('/cancel 1.0', /Here is a dream\.\n/);
    expect(await answerTo('kiwi', /Here is a kiwi\.\n/)).toContain('you  kiwi\n');
    expect(dev.stderr).not.toMatch(/try again/);
  });

  test('mistakes are told, and the end of input ends it with what went wrong [cli.dev]', async () => {
    dev.type('/forc', '/rewind 99', '//pear');
    dev.endOfInput();
    const { code, stdout, stderr } = await dev.finished();
    expect(code).toBe(1);
    expect(stderr).toMatch(/there is no \/forc; did you mean \/fork\?/);
    expect(stderr).toMatch(/\/rewind 99: the session has \d+ turns that are not hidden/);
    expect(stdout).toMatch(/you {2}\/pear\n.*Here is a \/pear\.\n$/s);
  });
});
