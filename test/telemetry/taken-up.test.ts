import { expect, test } from 'vitest';
import { Mailbox } from '../../workflows/messages/mailbox.ts';

test('a message that an earlier chain had and that is sent again keeps who sends it now, and when [traces.genai]', () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const kept = { messageId: 'm', invocationId: 'e-2', place: 1, digest: 'd', bytes: 5 };
  const state = { queue: [{ ...kept, traceparent, cameAt: 7 }], ended: {}, notes: [], places: 1 };
  const mailbox = new Mailbox(state, {
    app: 'shop',
    userId: 'ada',
    sessionId: 's1',
    startedAt: () => 0,
    current: () => ({ invocationId: 'e-1', digest: undefined }),
    interrupt: () => undefined,
  });
  mailbox.takeUp([{ ...kept, agent: 'support' }]);
  expect(mailbox.state.queue).toEqual([
    { ...kept, agent: 'support', place: -1_000_000, traceparent, cameAt: 7 },
  ]);
});
