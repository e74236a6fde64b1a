import * as adk from '@google/adk';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { LlmAgent, type LlmAgentConfig } from '../../src/agents/llm-agent.ts';
import { LoopAgent } from '../../src/agents/workflow-agents.ts';
import { createEvent, type Event } from '../../src/events/event.ts';
import { agentToRun, determineAgentForResumption, isRoutableLlmAgent } from '../../src/flows/agent-to-run.ts';

// It warns of each stranger.
adk.setLogLevel(adk.LogLevel.ERROR);

const llm = (name: string, config: Partial<LlmAgentConfig> = {}) =>
  new LlmAgent({ name, model: 'gemini-2.5-flash', ...config });

const tree = () => {
  const drafts = new LoopAgent({ name: 'drafts', subAgents: [llm('writer'), llm('critic')] });
  const billing = llm('billing', { subAgents: [llm('refunds')] });
  const closed = llm('closed', { disallowTransferToParent: true, subAgents: [llm('below')] });
  return llm('desk', { subAgents: [billing, drafts, closed] });
};
const said = (author: string): Event =>
  createEvent({ author, content: { role: 'model', parts: [{ text: 'x' }] } });
const called = (author: string, id: string): Event =>
  createEvent({ author, content: { role: 'model', parts: [{ functionCall: { id, name: 'ask' } }] } });
const answered = (id: string): Event =>
  createEvent({
    author: 'user',
    content: { role: 'user', parts: [{ functionResponse: { id, name: 'ask', response: {} } }] },
  });

describe('who acts in a turn that names nobody [transfer.next]', () => {
  test.each<[string, Event[], string]>([
    ['nobody has spoken', [said('user')], 'desk'],
    ['a sub-agent spoke last', [said('desk'), said('billing'), said('user')], 'billing'],
    ['one further down spoke last', [said('billing'), said('refunds'), said('user')], 'refunds'],
    ['the root spoke last', [said('billing'), said('desk'), said('user')], 'desk'],
    ['a workflow agent is not gone on with', [said('billing'), said('writer'), said('user')], 'billing'],
    ['one that can not hand back is not gone on with', [said('closed'), said('user')], 'desk'],
    ['nor what is below it', [said('below'), said('user')], 'desk'],
    ['strangers are passed over', [said('billing'), said('somebody'), said('user')], 'billing'],
    ['the message answers a call', [called('refunds', 'c1'), said('desk'), answered('c1')], 'refunds'],
    ['it answers a call of the root', [called('desk', 'c1'), said('billing'), answered('c1')], 'desk'],
    [
      'it answers a call within a workflow agent',
      [said('desk'), called('writer', 'c1'), answered('c1')],
      'desk',
    ],
    ['it answers no known call', [said('billing'), answered('c9')], 'billing'],
  ])('%s', (_, events, name) => {
    expect(agentToRun(tree(), events).name).toBe(name);
    expect(determineAgentForResumption({ events }, tree()).name).toBe(name);
  });

  test('as in ADK, whatever has been said', () => {
    const theirs = adkTree();
    const names = [
      'desk',
      'billing',
      'refunds',
      'drafts',
      'writer',
      'critic',
      'closed',
      'below',
      'user',
      'nobody',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...names), { maxLength: 6 }), (authors) => {
        const events = [...authors.map(said), said('user')];
        const session = { id: 's', appName: 'a', userId: 'u', state: {}, events, lastUpdateTime: 0 };
        const expected = adk.determineAgentForResumption(session as unknown as adk.Session, theirs);
        expect(agentToRun(tree(), events).name).toBe(expected.name);
      }),
    );
    const ours: BaseAgent = tree();
    for (const name of names) {
      const [one, other] = [ours.findAgent(name), theirs.findAgent(name)];
      if (one !== undefined && other !== undefined) {
        expect(isRoutableLlmAgent(one)).toBe(adk.isRoutableLlmAgent(other));
      }
    }
  });
});

function adkTree(): adk.BaseAgent {
  const adkLlm = (name: string, config: object = {}) =>
    new adk.LlmAgent({ name, model: 'gemini-2.5-flash', ...config });
  const drafts = new adk.LoopAgent({ name: 'drafts', subAgents: [adkLlm('writer'), adkLlm('critic')] });
  const billing = adkLlm('billing', { subAgents: [adkLlm('refunds')] });
  const closed = adkLlm('closed', { disallowTransferToParent: true, subAgents: [adkLlm('below')] });
  return adkLlm('desk', { subAgents: [billing, drafts, closed] });
}
