import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { ToolAgent } from '../../src/agents/tool-agent.ts';
import { App } from '../../src/app/app.ts';
import { createGateway, defineGateway, localAccess, serveGateway } from '../../src/gateway/index.ts';
import { FunctionTool } from '../../src/tools/function-tool.ts';
import { Media, ResponseWithMedia } from '../../src/tools/media.ts';
import { ABOUT, collecting } from '../gateway/gateway-stub.ts';
import { openTurnEnvironment } from '../setup/turn-environment.ts';

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const SILENCE = Buffer.from('UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=', 'base64');

const text = (value: string) => () => value;
const asks =
  (message: string) =>
  async (_args: unknown, context: { requestInput: (question: object) => Promise<unknown> }) => ({
    answered: await context.requestInput({
      message,
      responseSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    }),
  });

/** Tools of the suite, by what it expects of them. */
const TOOLS = [
  new FunctionTool({
    name: 'test_simple_text',
    description: 'Says a text.',
    execute: text('This is a simple text response for testing.'),
  }),
  new FunctionTool({
    name: 'test_image_content',
    description: 'Draws a dot.',
    execute: () =>
      new ResponseWithMedia({ result: 'A dot.' }, [new Media({ mimeType: 'image/png', data: PIXEL })]),
  }),
  new FunctionTool({
    name: 'test_audio_content',
    description: 'Says nothing.',
    execute: () =>
      new ResponseWithMedia({ result: 'Silence.' }, [new Media({ mimeType: 'audio/wav', data: SILENCE })]),
  }),
  new FunctionTool({
    name: 'test_embedded_resource',
    description: 'Gives a text.',
    execute: () =>
      new ResponseWithMedia({ result: 'A text.' }, [
        new Media({ mimeType: 'text/plain', data: Buffer.from('This is an embedded resource content.') }),
      ]),
  }),
  new FunctionTool({
    name: 'test_multiple_content_types',
    description: 'Gives a text, a dot and a document.',
    execute: () =>
      new ResponseWithMedia({ result: 'Multiple content types test:' }, [
        new Media({ mimeType: 'image/png', data: PIXEL }),
        new Media({ mimeType: 'application/json', data: Buffer.from('{"test":"data","value":123}') }),
      ]),
  }),
  new FunctionTool({
    name: 'test_error_handling',
    description: 'Fails.',
    retry: { maximumAttempts: 1 },
    execute: () => {
      throw new Error('This tool intentionally returns an error for testing');
    },
  }),
  new FunctionTool({
    name: 'test_tool_with_progress',
    description: 'Tells how far it is.',
    execute: text('done'),
  }),
  new FunctionTool({
    name: 'test_input_required_result_elicitation',
    description: 'Asks for a name.',
    execute: asks('What is your name?') as never,
  }),
  new FunctionTool({
    name: 'test_input_required_result_tampered_state',
    description: 'Asks for a name.',
    execute: asks('What is your name?') as never,
  }),
  new FunctionTool({
    name: 'test_input_required_result_request_state',
    description: 'Asks whether to go on.',
    execute: async (_args, context) => {
      await context.requestInput({
        message: 'Go on?',
        responseSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
      });
      return 'state-ok';
    },
  }),
  new FunctionTool({
    name: 'greet',
    description: 'Greets.',
    parameters: z.object({ name: z.string() }),
    execute: ({ name }) => `Hello, ${name}!`,
  }),
  new FunctionTool({
    name: 'slow_compute',
    description: 'Takes so many seconds.',
    parameters: z.object({ seconds: z.number(), label: z.string().optional() }),
    execute: async ({ seconds }, context) => {
      await setTimeout(
        seconds * 1_000,
        undefined,
        context.abortSignal === undefined ? {} : { signal: context.abortSignal },
      );
      return `computed for ${seconds} s`;
    },
  }),
  new FunctionTool({
    name: 'failing_job',
    description: 'Fails after a second.',
    retry: { maximumAttempts: 1 },
    execute: async () => {
      await setTimeout(1_000);
      throw new Error('the job has failed');
    },
  }),
  new FunctionTool({
    name: 'confirm_delete',
    description: 'Deletes a file.',
    parameters: z.object({ filename: z.string() }),
    requireConfirmation: true,
    execute: ({ filename }) => `deleted ${filename}`,
  }),
];

/** A gateway with an MCP server for the conformance suite, which knows no tokens. */
export async function openConformanceServer() {
  const desk = new ToolAgent({ name: 'desk', tools: TOOLS });
  const environment = await openTurnEnvironment({ apps: [new App({ name: 'shop', rootAgent: desk })] });
  const { client, store } = environment;
  const local = localAccess({ token: 'a-token-that-nobody-ever-shows' });
  const served = await serveGateway({
    gateway: createGateway({
      client,
      access: {
        ...local,
        authenticate: () => ({ name: 'suite', userId: 'suite', unlimited: true, may: () => 'allowed' }),
      },
      about: () => ({ ...ABOUT, apps: ['shop'] }),
      ready: async () => ({ temporal: true, store: true }),
      records: store,
      settings: defineGateway({ mcp: { agents: [desk] } }),
      logger: collecting([]),
    }),
  });
  return {
    url: `${served.url}/mcp`,
    async close() {
      await served.close();
      await environment.close();
    },
  };
}
