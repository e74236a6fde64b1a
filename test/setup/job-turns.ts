import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { JobRow } from '../../src/contract/jobs.ts';
import type { FunctionResponse } from '../../src/events/content.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import type { Store } from '../../src/store/store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { Context } from '../../src/tools/context.ts';
import { LongRunningFunctionTool } from '../../src/tools/function-tool.ts';
import type { JobView } from '../../src/tools/job-options.ts';
import type { ToolOptions } from '../../src/tools/tool-types.ts';
import { stepCalls } from './scripts.ts';
import {
  openTurnEnvironment,
  type TurnEnvironment,
  type TurnEnvironmentOptions,
} from './turn-environment.ts';

/** What a test has the tool of its jobs do; set before a turn. */
export interface JobTool {
  /** Of each run, in order; undefined for those that are not named. */
  execute: (args: Record<string, unknown>, context: Context) => unknown;
  poll: (job: JobView, context: Context) => unknown;
  cancel: (job: JobView, context: Context) => unknown;
  onTimeout: (job: JobView, context: Context) => unknown;
}

type JobToolOptions = Omit<
  ToolOptions<undefined, undefined, true>,
  'execute' | 'name' | 'description' | 'poll' | 'cancel' | 'onTimeout' | 'isLongRunning'
>;

/** A long-running tool whose functions are those that the test has set by then. */
export function jobTool(
  name: string,
  by: () => JobTool,
  options: JobToolOptions = {},
  hooks: readonly ('poll' | 'cancel' | 'onTimeout')[] = ['cancel'],
) {
  return new LongRunningFunctionTool({
    ...options,
    name,
    description: 'd',
    execute: (args: unknown, context: Context) => by().execute(args as Record<string, unknown>, context),
    ...Object.fromEntries(
      hooks.map((hook) => [hook, (job: JobView, context: Context) => by()[hook](job, context)]),
    ),
  });
}

/** Nothing lies between its polls, which no tool can ask for: they are what takes long in a test. */
export function pollingAtOnce<Tool extends BaseTool>(tool: Tool): Tool {
  Object.defineProperty(tool, 'job', { value: { ...tool.job, pollInterval: 1 } });
  return tool;
}

export interface JobTurn {
  names: { app: string; userId: string; sessionId: string };
  workflowId: string;
  /** Its job, once it stands like this. */
  job(mode?: JobRow['mode'], status?: JobRow['status']): Promise<JobRow>;
  result: ReturnType<Awaited<ReturnType<TurnEnvironment['client']['sendMessage']>>['result']>;
  status(): Promise<TurnStatus | undefined>;
}

/** An environment in which turns call long-running tools. */
export async function openJobEnvironment(
  tools: readonly BaseTool[],
  options: TurnEnvironmentOptions = {},
): Promise<TurnEnvironment> {
  // Of worker and client alike: tokens of jobs are signed with them.
  process.env.HOLDFAST_CREDENTIAL_KEYS ??= `k1:${randomBytes(32).toString('base64')}`;
  const agent = new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [...tools] });
  return await openTurnEnvironment({
    agents: [agent],
    ...options,
    workerOptions: {
      publicUrl: 'https://agents.example.com',
      ...options.workerOptions,
    },
  });
}

/** Starts a turn whose model calls the tool once, or what the steps say, then answers. */
export async function startJobTurn(
  environment: TurnEnvironment,
  tool: string,
  {
    args = {},
    steps = [[{ name: tool, args }]],
    names = { app: 'test', userId: 'ada', sessionId: randomUUID() },
  }: {
    args?: Record<string, unknown>;
    steps?: Parameters<typeof stepCalls>[0];
    names?: JobTurn['names'];
  } = {},
): Promise<JobTurn> {
  environment.gemini.reset(stepCalls(steps));
  const handle = await environment.client.sendMessage({ ...names, message: 'go' });
  return {
    names,
    workflowId: handle.workflowId,
    result: handle.result(),
    status: () => environment.client.status(names),
    job: (mode, status) => jobOf(environment, names, mode, status),
  };
}

const ALL = ['running', 'completed', 'failed', 'cancelled', 'timed_out'] as const;

/** The session's newest job, once it stands like this. */
export async function jobOf(
  { store }: { store: Pick<Store, 'jobs'> },
  names: JobTurn['names'],
  mode?: JobRow['mode'],
  status?: JobRow['status'],
): Promise<JobRow> {
  let row: JobRow | undefined;
  await expect
    .poll(
      async () => {
        row = (await store.jobs.list({ ...names, status: ALL })).at(-1);
        return row && { mode: row.mode, status: row.status };
      },
      { timeout: 120_000 },
    )
    .toMatchObject({ ...(mode === undefined ? {} : { mode }), ...(status === undefined ? {} : { status }) });
  return row as JobRow;
}

/** All that the session was told by tools, in order. */
export async function responsesOf(
  { store }: { store: Pick<Store, 'sessions'> },
  names: JobTurn['names'],
): Promise<FunctionResponse[]> {
  const events = await store.sessions.readEvents(names);
  return events.flatMap(({ event }) => getFunctionResponses(event));
}
