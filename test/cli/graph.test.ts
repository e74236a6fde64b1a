import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { LoopAgent, ParallelAgent } from '../../src/agents/workflow-agents.ts';
import { type AgentGraph, agentGraph } from '../../src/cli/graph/agent-graph.ts';
import { graphCommand, mermaid } from '../../src/cli/graph/graph-command.ts';
import { BaseCodeExecutor } from '../../src/code-executors/base-code-executor.ts';
import { BaseTool } from '../../src/tools/base-tool.ts';
import { BaseToolset } from '../../src/tools/base-toolset.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import { capturedOutput } from './captured-output.ts';

const agentsFile = fileURLToPath(new URL('./agents/orders.ts', import.meta.url));

const charge = tool({
  name: 'charge',
  description: 'Charges a card.',
  parameters: z.object({ card: z.string() }),
  timeout: '20s',
  totalTimeout: '5 minutes',
  retry: { maximumAttempts: 1 },
  idempotent: false,
  isConcurrencySafe: false,
  sensitive: ['card'],
  execute: () => ({}),
});
const look = tool({ name: 'look', description: 'Looks.', execution: 'inline', execute: () => ({}) });

class Clock extends BaseTool {
  constructor() {
    super({ name: 'clock', description: 'Tells the time.' });
  }
  override async runAsync() {
    return {};
  }
}

function graphOf(...agents: LlmAgent[]): AgentGraph {
  return agentGraph({ app: 'shop', agents, rootAgent: agents[0] });
}

test('an agent shows the model that it has from above; one whose workers are elsewhere may have none [cli.graph] [agent.model]', () => {
  const away = new AgentTool({ agent: new LlmAgent({ name: 'away' }), taskQueue: 'gpu' });
  const helper = new LlmAgent({ name: 'helper', tools: [away] });
  const graph = graphOf(new LlmAgent({ name: 'root', model: 'gemini-2.5-flash', subAgents: [helper] }));
  expect(graph.agents.map(({ name, model }) => [name, model])).toEqual([
    ['root', 'gemini-2.5-flash'],
    ['helper', 'gemini-2.5-flash'],
    ['away', undefined],
  ]);
  expect(mermaid(graph)).toContain('gemini-2.5-flash');
});

test('agents that run others, and those of tools, are drawn with what runs them [cli.graph]', () => {
  const model = 'gemini-2.5-flash';
  const expert = new LlmAgent({ name: 'expert', model });
  const tools = [new AgentTool({ agent: expert, attempts: 2, taskQueue: 'gpu' })];
  const writer = new LlmAgent({ name: 'writer', model, tools });
  const graph = agentGraph({
    app: 'shop',
    agents: [
      new LoopAgent({
        name: 'drafts',
        subAgents: [
          writer,
          new ParallelAgent({ name: 'sides', subAgents: [expert.clone({ name: 'other' })] }),
        ],
      }),
    ],
    rootAgent: undefined,
  });
  expect(graph.agents.map(({ name, kind, options }) => [name, kind, options])).toEqual([
    ['drafts', 'LoopAgent', ['until one escalates']],
    ['writer', 'LlmAgent', []],
    ['expert', 'LlmAgent', []],
    ['sides', 'ParallelAgent', []],
    ['other', 'LlmAgent', []],
  ]);
  expect(graph.tools).toMatchObject([{ name: 'expert', kind: 'agent', options: ['2 attempts', 'on gpu'] }]);
  expect(graph.edges.map(({ kind }) => kind).toSorted()).toEqual([
    'agent',
    'sub-agent',
    'sub-agent',
    'sub-agent',
    'tool',
  ]);
  expect(mermaid(graph)).toContain('tool1 -.-> agent3');
});

const LABEL = /"([^"]*)"/;

/** What Mermaid shows of a node's label. */
function shownLabel(line: string): string[] {
  const label = LABEL.exec(line)?.[1] ?? '';
  return label
    .split('<br/>')
    .map((text) => text.replace(/#(\d+);/g, (_entity, code) => String.fromCodePoint(Number(code))));
}

test('a file’s agents and tools, shared tools once, as JSON [cli.graph]', async () => {
  const output = capturedOutput();
  await graphCommand(agentsFile, { json: true }, output);
  expect(output.values()).toEqual([
    {
      v: 1,
      app: 'orders',
      rootAgent: 'agent1',
      agents: [
        {
          id: 'agent1',
          name: 'orders',
          kind: 'LlmAgent',
          description: '',
          model: 'gemini-2.5-flash',
          options: [],
        },
        {
          id: 'agent2',
          name: 'helper',
          kind: 'LlmAgent',
          description: '',
          model: 'gemini-2.5-flash',
          options: [],
        },
      ],
      tools: [
        { id: 'tool1', name: 'look_up', kind: 'function', description: 'Looks up an order.', options: [] },
      ],
      edges: [{ from: 'agent1', to: 'tool1', kind: 'tool' }],
    },
  ]);
});

test('shapes by kind, options that differ from the defaults as labels [cli.graph]', () => {
  const model = 'gemini-2.5-flash';
  const shop = new LlmAgent({
    name: 'shop',
    model,
    tools: [charge, look, new Clock()],
    modelTimeout: '1 minute',
    maxParallelCalls: 2,
  });
  const other = new LlmAgent({ name: 'other', model, description: 'Helps out.', tools: [look] });
  const drawn = mermaid(graphOf(shop, other));
  expect(drawn.split('\n')).toEqual([
    'flowchart LR',
    '  agent1(["shop<br/>gemini-2.5-flash<br/>model 1 min · 2 at a time"])',
    '  agent2(["other<br/>gemini-2.5-flash<br/>Helps out."])',
    '  tool1["charge<br/>Charges a card.<br/>20 s · 5 min in all · 1 attempt · not idempotent · runs alone · sensitive#58; card"]',
    '  tool2["look<br/>Looks.<br/>inline"]',
    '  tool3[["clock<br/>Tells the time."]]',
    '  agent1 --> tool1',
    '  agent1 --> tool2',
    '  agent1 --> tool3',
    '  agent2 --> tool2',
    '  classDef root stroke-width:3px',
    '  class agent1 root',
    '  classDef careful stroke:#d33',
    '  class tool1 careful',
    '',
  ]);
  expect(mermaid(graphOf(other), 'TB')).toMatch(/^flowchart TB\n/);
});

test('what calls wait for, and how their jobs are looked after, stand with their tools [cli.graph]', () => {
  const execute = () => ({});
  const tools = [
    tool({
      name: 'refund',
      description: 'd',
      requireConfirmation: true,
      approval: {
        approvers: ['mira', 'otto'],
        quorum: 2,
        expiresIn: '2 hours',
        onExpiry: 'escalate',
        escalateTo: ['eve'],
        allowEdit: true,
        notRequester: true,
      },
      execute,
    }),
    tool({
      name: 'maybe',
      description: 'd',
      requireConfirmation: () => false,
      retry: { maximumAttempts: 2 },
      execute,
    }),
    tool({
      name: 'order',
      description: 'd',
      authConfig: { credentialKey: 'shop', authScheme: { type: 'apiKey', in: 'header', name: 'x-key' } },
      heartbeatTimeout: '1 minute',
      execute,
    }),
    new LongRunningFunctionTool({
      name: 'report',
      description: 'd',
      deadline: '2 days',
      poll: () => undefined,
      pollInterval: '5 minutes',
      silenceTimeout: '1 hour',
      execute,
    }),
    tool({ name: 'train', description: 'd', inProcess: true, deadline: '3 hours', execute }),
    tool({ name: 'plain', description: 'd', execute }),
  ];
  const { tools: drawn } = graphOf(new LlmAgent({ name: 'shop', model: 'gemini-2.5-flash', tools }));
  expect(Object.fromEntries(drawn.map(({ name, options }) => [name, options.join(' · ')]))).toEqual({
    refund:
      'waits for approval · approvers: mira, otto · 2 approvals · not by who asks · arguments may be edited · expires after 2 h · ' +
      'on expiry: escalate · escalates to eve',
    maybe: 'may wait for approval · 2 attempts',
    order: 'credential: shop · heartbeat within 1 min',
    report: 'job · deadline 48 h · polled every 5 min · heard of within 1 h',
    train: 'job in its own run · deadline 3 h',
    plain: '',
  });
});

test('toolsets, code executors and bounds are drawn too [cli.graph]', () => {
  class Shelf extends BaseToolset {
    override async getTools() {
      return [look];
    }
    override async close() {}
  }
  class Sandbox extends BaseCodeExecutor {
    override async executeCode() {
      return { stdout: '', stderr: '', outputFiles: [] };
    }
  }
  const reader = new LlmAgent({
    name: 'reader',
    model: 'gemini-2.5-flash',
    tools: [new Shelf(['look']), new Shelf(() => true)],
    codeExecutor: new Sandbox(),
    maxIterations: 4,
  });
  const graph = graphOf(reader);
  expect(graph.tools).toEqual([
    { id: 'tool1', name: 'Shelf', kind: 'toolset', description: '', options: ['only look'] },
    { id: 'tool2', name: 'Shelf', kind: 'toolset', description: '', options: [] },
  ]);
  expect(graph.agents[0]?.options).toEqual(['at most 4 model calls', 'code: Sandbox']);
  expect(mermaid(graph)).toContain('\n  tool2[/"Shelf"/]\n');
});

test('whatever names and descriptions hold, each node is one line whose label says just that [cli.graph]', () => {
  const odd = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '"]; end',
      'style x fill:#f00;',
      '<script>',
      '#quot;',
      '`**bold**`',
      '%% comment',
      'a\n  b --> c',
    ),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(odd, odd), { minLength: 1, maxLength: 3 }), (texts) => {
      const graph: AgentGraph = { v: 1, app: 'a', rootAgent: 'agent1', agents: [], tools: [], edges: [] };
      for (const [index, [name, description]] of texts.entries()) {
        const id = `agent${index + 1}`;
        graph.agents.push({ id, name, kind: 'LlmAgent', description, model: name, options: [description] });
        graph.tools.push({ id: `tool${index + 1}`, name, kind: 'other', description, options: [] });
        graph.edges.push({ from: id, to: `tool${index + 1}`, kind: 'tool' });
      }
      const lines = mermaid(graph).split('\n');
      expect(lines).toHaveLength(1 + texts.length * 3 + 2 + 1);
      for (const line of lines.slice(1, 1 + texts.length * 2)) {
        expect(line).toMatch(/^ {2}\w+(\(\["[^"]*"\]\)|\[\["[^"]*"\]\])$/);
        const label = LABEL.exec(line)?.[1] ?? '';
        expect(label.replaceAll('<br/>', '')).toMatch(/^(#\d+;|[\p{L}\p{M}\p{N} _.,·…/+-])*$/u);
      }
      for (const [index, [name, description]] of texts.entries()) {
        const shown = shownLabel(lines[1 + index] ?? '');
        const words = (text: string) => text.toWellFormed().replace(/\s+/g, ' ').trim();
        const short = Array.from(description.trim()).length <= 60;
        const wanted = [name, name, description, description].map(words).filter((text) => text !== '');
        if (short) expect(shown.filter((text) => text !== '')).toEqual(wanted);
        else expect(shown.at(-1)).toBe(words(description));
      }
    }),
    { numRuns: 50 },
  );
});
