import { afterEach, expect, test, vi } from 'vitest';
import { isBaseAgent } from '../../src/agents/base-agent.ts';
import { createEvent } from '../../src/events/event.ts';
import { getLogger, setLogger } from '../../src/logger.ts';
import { LoggingPlugin } from '../../src/plugins/logging-plugin.ts';
import { ReflectAndRetryToolPlugin } from '../../src/plugins/reflect-and-retry-tool-plugin.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { ToolError } from '../../src/tools/tool-error.ts';
import {
  callContextOf,
  charge,
  contextOf,
  discreet,
  findOrder,
  type Line,
  readVault,
  recordingLogger,
} from './plugin-scene.ts';

afterEach(() => vi.restoreAllMocks());

const text = (words: string, role = 'user') => ({ role, parts: [{ text: words }] });

/** Every hook of a turn in which `find_order` is called, as one agent's. */
async function runTurn(plugin: LoggingPlugin, agent: Parameters<typeof contextOf>[0] = {}) {
  const context = contextOf(agent);
  const { invocationContext } = context;
  const callbackContext = context;
  const { agent: acting } = invocationContext;
  const about = { agent: isBaseAgent(acting) ? acting : discreet, callbackContext };
  const call = { tool: findOrder as BaseTool, toolContext: callContextOf('c1', agent) };
  const llmRequest = {
    model: 'gemini-2.5-flash',
    contents: [],
    config: { systemInstruction: 'Be a helpful clerk.' },
    toolsDict: { find_order: findOrder },
  };
  await plugin.onUserMessageCallback({ invocationContext, userMessage: text('where is my parcel?') });
  await plugin.beforeRunCallback({ invocationContext });
  await plugin.beforeAgentCallback(about);
  await plugin.beforeModelCallback({ callbackContext, llmRequest });
  const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 3 };
  await plugin.afterModelCallback({
    callbackContext,
    llmResponse: { content: text('It is on its way.', 'model'), usageMetadata },
  });
  await plugin.onModelErrorCallback({
    callbackContext,
    llmRequest,
    error: new Error('quota of parcel model'),
  });
  await plugin.beforeToolCallback({ ...call, toolArgs: { id: 'parcel-1' } });
  await plugin.afterToolCallback({ ...call, toolArgs: {}, result: { found: 'parcel-1' } });
  await plugin.onToolErrorCallback({ ...call, toolArgs: {}, error: new ToolError('parcel-1 is gone') });
  const event = createEvent({ id: 'ev1', author: 'support', content: text('parcel there', 'model') });
  await plugin.onEventCallback({ invocationContext, event });
  await plugin.afterAgentCallback(about);
  await plugin.afterRunCallback({ invocationContext });
}

test('each hook is a line that says where it is and what it is about [plugin.logging]', async () => {
  const logger = recordingLogger();
  await runTurn(new LoggingPlugin('log', { logger }));
  expect(logger.lines.map(({ level, message }) => [level, message])).toEqual([
    ['info', '[log] USER MESSAGE RECEIVED'],
    ['info', '[log] INVOCATION STARTING'],
    ['info', '[log] AGENT STARTING'],
    ['info', '[log] LLM REQUEST'],
    ['info', '[log] LLM RESPONSE'],
    ['warn', '[log] LLM ERROR'],
    ['info', '[log] TOOL STARTING'],
    ['info', '[log] TOOL COMPLETED'],
    ['warn', '[log] TOOL ERROR'],
    ['info', '[log] EVENT YIELDED'],
    ['info', '[log] AGENT COMPLETED'],
    ['info', '[log] INVOCATION COMPLETED'],
  ]);
  const [message, starting, , request, response, , begun, completed, failed, yielded] = logger.lines.map(
    ({ attributes }) => attributes,
  );
  expect(message).toEqual({
    invocationId: 'e-1',
    sessionId: 's1',
    userId: 'ada',
    appName: 'shop',
    agent: 'support',
    content: "text: 'where is my parcel?'",
  });
  expect(starting).toEqual({ invocationId: 'e-1', agent: 'support' });
  expect(request).toMatchObject({
    model: 'gemini-2.5-flash',
    systemInstruction: 'Be a helpful clerk.',
    tools: 'find_order',
  });
  expect(response).toMatchObject({ content: "text: 'It is on its way.'", inputTokens: 7, outputTokens: 3 });
  expect(begun).toMatchObject({ tool: 'find_order', callId: 'c1', args: '{"id":"parcel-1"}' });
  expect(completed).toMatchObject({ result: '{"found":"parcel-1"}' });
  expect(failed).toMatchObject({ error: 'parcel-1 is gone' });
  expect(yielded).toMatchObject({ eventId: 'ev1', author: 'support', final: true });
});

test('nothing of what a sensitive agent reads, says or calls is written [plugin.logging]', async () => {
  const logger = recordingLogger();
  await runTurn(new LoggingPlugin('log', { logger }), { agent: discreet });
  expect(logger.lines).toHaveLength(12);
  expect(JSON.stringify(logger.lines)).not.toMatch(/parcel|clerk|on its way/);
  expect(logger.lines[0]?.attributes.content).toBe('(sensitive)');
});

test('nothing of what a sensitive tool gets and returns is written; of named arguments only these', async () => {
  const logger = recordingLogger();
  const plugin = new LoggingPlugin('log', { logger });
  const toolContext = callContextOf('c1');
  const run = async (tool: BaseTool, toolArgs: Record<string, unknown>) => {
    logger.lines.length = 0;
    await plugin.beforeToolCallback({ tool, toolArgs, toolContext });
    await plugin.afterToolCallback({ tool, toolArgs, toolContext, result: { secret: 'tulip' } });
    await plugin.afterToolCallback({ tool, toolArgs, toolContext, result: { error: 'no tulip 4111' } });
    await plugin.onToolErrorCallback({ tool, toolArgs, toolContext, error: new Error('no tulip 4111') });
    return logger.lines.map(({ attributes: { args, result, error } }) => ({ args, result, error }));
  };
  const hidden = '(sensitive)';
  expect(await run(readVault, { key: 'tulip' })).toEqual([
    { args: hidden },
    { result: hidden },
    { result: hidden },
    { args: hidden, error: 'Error' },
  ]);
  const args = '{"amount":5,"card":"(sensitive)"}';
  expect(await run(charge, { amount: 5, card: '4111' })).toEqual([
    { args },
    { result: '{"secret":"tulip"}' },
    // Errors quote arguments.
    { result: hidden },
    { args, error: 'Error' },
  ]);
});

test('of a tool with sensitive arguments nothing is written that may quote one [plugin.logging]', async () => {
  const logger = recordingLogger();
  const plugin = new LoggingPlugin('log', { logger });
  const toolArgs = { amount: 5, card: '4111-1', crad: '4222-2' };
  const call = { tool: charge, toolArgs, toolContext: callContextOf('c1') };
  const error = new Error('4-1-1-1 was declined');
  const answered = await new ReflectAndRetryToolPlugin().onToolErrorCallback({ ...call, error });
  await plugin.beforeToolCallback(call);
  await plugin.afterToolCallback({ ...call, result: answered ?? {} });
  await plugin.afterToolCallback({ ...call, result: { sorry: ['no money on 4111-1'], left: 5 } });
  // One that the model has misspelled is as secret.
  expect(logger.lines.map(({ attributes: { args, result } }) => args ?? result)).toEqual([
    '{"amount":5,"card":"(sensitive)","crad":"(sensitive)"}',
    '(sensitive)',
    '{"sorry":["no money on (sensitive)"],"left":5}',
  ]);
});

test('arguments without a JSON form, which a callback has made, are written down as Node shows them', async () => {
  const logger = recordingLogger();
  const toolArgs: Record<string, unknown> = { amount: 5n };
  toolArgs.self = toolArgs;
  await new LoggingPlugin('log', { logger }).beforeToolCallback({
    tool: findOrder,
    toolArgs,
    toolContext: callContextOf('c1'),
  });
  expect(logger.lines[0]?.attributes.args).toContain('amount: 5n');
});

test('long text is cut at 200 characters, long arguments and results at 300; parts that are no text are named', async () => {
  const logger = recordingLogger();
  const plugin = new LoggingPlugin('log', { logger });
  const { invocationContext } = contextOf();
  await plugin.onUserMessageCallback({
    invocationContext,
    userMessage: {
      parts: [
        { text: 'x'.repeat(201) },
        { inlineData: { data: 'aGk=', mimeType: 'text/plain' } },
        { functionCall: { name: 'find_order' } },
        { functionResponse: { name: 'find_order' } },
        { codeExecutionResult: {} },
      ],
    },
  });
  const toolArgs = { note: 'y'.repeat(400) };
  await plugin.beforeToolCallback({ tool: findOrder, toolArgs, toolContext: callContextOf('c1') });
  expect(logger.lines.map(({ attributes }) => attributes.content ?? attributes.args)).toEqual([
    `text: '${'x'.repeat(200)}...' | other_part | function_call: find_order | function_response: find_order | ` +
      'code_execution_result',
    `{"note":"${'y'.repeat(291)}...`,
  ]);
});

test('without a logger lines go to that of the program, else to standard error: those of --json stay alone', async () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const standardOutput = vi.spyOn(process.stdout, 'write');
  const { invocationContext } = contextOf();
  await new LoggingPlugin().onUserMessageCallback({ invocationContext, userMessage: text('hi\nyou') });
  expect(write.mock.calls.map(([line]) => line)).toEqual([
    '[logging_plugin] USER MESSAGE RECEIVED invocationId=e-1 sessionId=s1 userId=ada appName=shop agent=support ' +
      `content="text: 'hi\\nyou'"\n`,
  ]);
  expect(standardOutput).not.toHaveBeenCalled();
  const line = String(write.mock.calls[0]?.[0]);
  const told: unknown[] = [];
  const ignored = () => undefined;
  const info = (...args: unknown[]) => void told.push(...args);
  const before = getLogger();
  setLogger({ log: ignored, debug: ignored, info, warn: ignored, error: ignored, setLogLevel: ignored });
  try {
    await new LoggingPlugin().onUserMessageCallback({ invocationContext, userMessage: text('hi\nyou') });
  } finally {
    setLogger(before);
  }
  expect(told).toEqual([line.trimEnd()]);
  expect(write).toHaveBeenCalledOnce();
});

test('a logger that throws ends no turn: the process is warned, once', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
  const failing = (): Line => {
    throw new Error('disk full');
  };
  const plugin = new LoggingPlugin('log', { logger: { info: failing, warn: failing } });
  await runTurn(plugin);
  expect(warned.mock.calls).toEqual([[new Error('disk full')]]);
  const late = async () => {
    throw new Error('no route to the log');
  };
  await runTurn(new LoggingPlugin('log', { logger: { info: late, warn: late } }));
  await expect.poll(() => warned.mock.calls.length).toBe(2);
  expect(warned.mock.calls[1]).toEqual([new Error('no route to the log')]);
});
