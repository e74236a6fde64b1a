import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { BaseLlm } from '../../src/models/base-llm.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { MCPConnectionParams } from '../../src/tools/mcp/connection-params.ts';
import { MCPToolset } from '../../src/tools/mcp/mcp-toolset.ts';
import type { ToolOptions } from '../../src/tools/tool-types.ts';
import { Workspace } from '../../src/tools/workspace/workspace.ts';

/** Files through which the tools of a worker process are seen, and held, from outside. */
export interface CrashFiles {
  /** One line for each effect: `<tool> <call key>`. */
  effects: string;
  /** `hold` returns once this exists. */
  gate: string;
}

export function crashAgents(
  { effects, gate }: CrashFiles,
  model: string | BaseLlm = 'gemini-2.5-flash',
): LlmAgent[] {
  const effect = tool({
    name: 'effect',
    description: 'has an effect outside of the process',
    parameters: z.object({ n: z.number() }),
    execute: ({ n }, context) => {
      appendFileSync(effects, `effect ${context?.callKey}\n`);
      return { n };
    },
  });
  const hold = (name: string, idempotent: boolean, more: Partial<ToolOptions<undefined>> = {}) =>
    tool({
      name,
      description: 'has its effect, then waits for the gate',
      parameters: z.object({}),
      idempotent,
      ...more,
      execute: async (_args, context) => {
        appendFileSync(effects, `${name} ${context?.callKey}\n`);
        while (!existsSync(gate)) await setTimeout(20, undefined, { signal: context?.abortSignal });
        return { held: true };
      },
    });
  const onceOnly = tool({
    name: 'once_only',
    description: 'has its effect once, then waits for the gate',
    parameters: z.object({}),
    execute: async (_args, context) => {
      const charge = await context?.once('charge', () => {
        appendFileSync(effects, `once_only ${context.callKey}\n`);
        return `charge for ${context.idempotencyKey}`;
      });
      appendFileSync(effects, `after_once ${context?.callKey}\n`);
      while (!existsSync(gate)) await setTimeout(20, undefined, { signal: context?.abortSignal });
      return { charge };
    },
  });
  const asksInside = tool({
    name: 'pay_if_allowed',
    description: 'asks first, has its effect, then waits for the gate',
    parameters: z.object({}),
    execute: async (_args, context) => {
      if (context.toolConfirmation?.confirmed !== true) {
        context.requestConfirmation({ hint: 'pay?' });
        return {};
      }
      appendFileSync(effects, `pay_if_allowed ${context.callKey}\n`);
      while (!existsSync(gate)) await setTimeout(20, undefined, { signal: context.abortSignal });
      return { paid: true };
    },
  });
  const pay = tool({
    name: 'pay',
    description: 'has an effect that a person has approved',
    parameters: z.object({ n: z.number() }),
    requireConfirmation: true,
    execute: ({ n }, context) => {
      appendFileSync(effects, `pay ${n} ${context.callKey}\n`);
      return { n };
    },
  });
  const report = tool({
    name: 'report',
    description: 'orders outside of the process; its job has its outcome once the gate is open',
    parameters: z.object({}),
    isLongRunning: true,
    heartbeatTimeout: '2s',
    pollInterval: '1s',
    execute: (_args, { job }) => {
      appendFileSync(effects, `report ${job.id}\n`);
    },
    poll: ({ id }) => (existsSync(gate) ? { id } : undefined),
    cancel: ({ id }) => appendFileSync(effects, `cancel ${id}\n`),
  });
  const build = tool({
    name: 'build',
    description: 'works through ten pages, then waits for the gate',
    parameters: z.object({}),
    inProcess: true,
    heartbeatTimeout: '2s',
    execute: async (_args, context) => {
      const details = (context.job.details ?? { page: 0 }) as { page: number };
      appendFileSync(effects, `build from ${details.page}\n`);
      context.heartbeat({ page: 10 });
      while (!existsSync(gate)) {
        await setTimeout(20, undefined, { signal: context.abortSignal });
        context.heartbeat({ page: 10 });
      }
      return { from: details.page };
    },
  });
  const save = tool({
    name: 'save',
    description: 'saves artifacts: small ones, and one that a bucket keeps',
    parameters: z.object({}),
    execute: async (_args, context) => {
      appendFileSync(effects, `save ${context.callKey}\n`);
      const versions = [
        await context.saveArtifact('a.txt', { text: 'first' }),
        await context.saveArtifact('big.bin', {
          stream: Buffer.alloc(2 * 1024 * 1024 + 5, 'big'),
          mimeType: 'application/octet-stream',
        }),
        await context.saveArtifact('a.txt', { text: 'second' }),
      ];
      return { versions };
    },
  });
  const workspace = new Workspace({ folder: join(dirname(effects), 'workspaces') });
  const note = tool({
    name: 'note',
    description: 'adds a line to a file of the workspace',
    parameters: z.object({}),
    isConcurrencySafe: false,
    execute: async (_args, context) =>
      await workspace.use(context, async (root) => {
        appendFileSync(join(root, 'notes.txt'), 'line\n');
        return { notes: readFileSync(join(root, 'notes.txt'), 'utf8') };
      }),
  });
  const { MCP_SERVER_OF_TEST: url, MCP_PROGRAM_OF_TEST: program, MCP_UNKNOWN_OF_TEST: unknown } = process.env;
  const params: MCPConnectionParams | undefined =
    program !== undefined
      ? {
          type: 'StdioConnectionParams',
          serverParams: { command: process.execPath, args: JSON.parse(program) },
        }
      : url === undefined
        ? undefined
        : { type: 'StreamableHTTPConnectionParams', url };
  const served =
    params === undefined
      ? []
      : [
          new MCPToolset(params, [], undefined, {
            defaults: {
              heartbeatTimeout: '2s',
              ...(unknown === 'retry' ? { onUnknownOutcome: unknown } : {}),
            },
          }),
        ];
  return [
    new LlmAgent({
      name: 'crash',
      model,
      tools: [
        effect,
        hold('hold', true),
        hold('hold_not_idempotent', false),
        onceOnly,
        pay,
        hold('pay_slowly', true, { requireConfirmation: true }),
        hold('hold_asking', true, { onUnknownOutcome: 'ask' }),
        asksInside,
        report,
        build,
        save,
        note,
        ...served,
      ],
    }),
  ];
}
