import { expect, test } from 'vitest';
import { transcriptUrl } from '../../worker/page-addresses.ts';
import { describeTurn } from '../../workflows/turn/describe-turn.ts';
import { beginInvocation, type ChainState } from '../../workflows/turn/turn-state.ts';

const NO_MAIL = { queue: [], ended: {}, notes: [], places: 0 };

function detailsOf(agent: string, notes: string[] = [], status: 'running' | 'completed' = 'running'): string {
  const chain: ChainState = {
    v: 1,
    startedAt: 0,
    invocations: 0,
    others: [],
    mailbox: { ...NO_MAIL, notes },
  };
  const state = beginInvocation(chain, { messageId: 'm', invocationId: 'e-1', agent });
  const nothing = { running: [], pending: [], jobs: [] };
  return describeTurn(
    'shop/ada/s1',
    status,
    { ...state, step: 2 },
    { waiting: 0, state: chain.mailbox },
    nothing,
  );
}

test('what clients named is text, and no Markdown of theirs', () => {
  const details = detailsOf('a**b', ['message [pay](https://evil.example)\n\n# now <b>\n`x` rejected: full']);
  expect(details).toContain('**a\\*\\*b**, step 3');
  expect(details).toContain(
    'message \\[pay\\](https://evil.example) # now \\<b\\> \\`x\\` rejected: full\n\ntranscript',
  );
  expect(detailsOf('a'.repeat(1_000)).length).toBeLessThan(600);
});

test('a turn that has ended asks no model', () => {
  expect(detailsOf('support')).toContain('asking the model');
  const ended = detailsOf('support', [], 'completed');
  expect(ended).toContain('**support**, step 2');
  expect(ended).toContain('\n\ncompleted\n\n');
  expect(ended).not.toContain('asking');
});

test('no session’s name ends the link to its transcript', () => {
  const url = transcriptUrl('https://desk.example/{app}/{session}');
  expect(url?.({ app: 'shop', userId: 'ada', sessionId: 'a)(b' })).toBe('https://desk.example/shop/a%29%28b');
  for (const template of [
    'desk.example/{session}',
    'https://desk.example',
    'https://desk.example/{session}) [x',
  ])
    expect(() => transcriptUrl(template)).toThrow('transcriptUrl');
});
