import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { Context } from '../../src/tools/context.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import type { JobView } from '../../src/tools/job-options.ts';
import type { Doom } from './doom.ts';
import type { JobNote, JobService } from './job-service.ts';

export const JOB_APP = 'jobs';

/** Where a process may die on the way of a job: at a write of the store, or behind the tool's effect. */
export const JOB_MOMENTS = [
  'before open',
  'after open',
  'effect',
  'before park',
  'after park',
  'before detach',
  'after detach',
  'before wait',
  'after wait',
  'before poll',
  'after poll',
  'before end',
  'after end',
  'before settle',
  'after settle',
  'before deliver',
  'after deliver',
] as const;

export type JobMoment = (typeof JOB_MOMENTS)[number];

/** `other`: the tools are what a release later they might be; `none`: they are gone. */
export type Deployment = 'first' | 'other' | 'none';

const parameters = z.object({
  n: z.number(),
  /** The model is told something, and the job goes on without the turn. */
  goesOn: z.boolean().optional(),
  /** The tool returns once the service lets it. */
  holds: z.boolean().optional(),
});

export type JobOrder = z.infer<typeof parameters>;

/** They differ in how their jobs end by themselves. */
export const JOB_TOOLS = ['order', 'watch', 'decide', 'build', 'soon', 'build_soon', 'quiet'] as const;

export type JobToolName = (typeof JOB_TOOLS)[number];

const LOOK = 20;

/** An app whose tools order things from a service that lives outside of its process. */
export function jobApp(service: JobService, doom: Doom<JobMoment>, deployment: Deployment = 'first'): App {
  const noteOf = (what: JobNote['what'], name: JobToolName, context: Context, n: number): JobNote => ({
    ...{ what, tool: name, n },
    jobId: context.job.id,
    session: context.sessionId,
    callKey: context.callKey,
  });
  const ran = async (name: JobToolName, { n }: JobOrder, context: Context) => {
    const { callbackUrl: url, token, details } = context.job;
    const note = noteOf('ran', name, context, n);
    service.note({ ...note, callback: { url, token }, ...(details === undefined ? {} : { details }) });
    await doom.reached('effect', context.callKey);
  };
  const order = (name: JobToolName) => async (args: JobOrder, context: Context) => {
    await ran(name, args, context);
    while (args.holds && !service.isLetGo(context.job.id)) await pause(context);
    return args.goesOn ? { n: args.n, ordered: true } : undefined;
  };
  const build = (name: JobToolName) => async (args: JobOrder, context: Context) => {
    await ran(name, args, context);
    const { page = 0 } = (context.job.details ?? {}) as { page?: number };
    context.heartbeat({ page: page + 1 });
    for (;;) {
      const result = service.result(context.job.id);
      if (result !== undefined) return result;
      await pause(context);
      context.heartbeat({ page: page + 1 });
    }
  };
  const base = (name: JobToolName) => ({
    name,
    description: deployment === 'first' ? 'orders something' : 'orders something as good',
    parameters,
    heartbeatTimeout: '2s' as const,
  });
  const hears = (name: JobToolName) => ({
    cancel: ({ args }: JobView, context: Context) =>
      service.note(noteOf('told', name, context, Number(args.n))),
  });
  const watched = {
    poll: ({ id, args }: JobView, context: Context) => {
      service.note(noteOf('polled', 'watch', context, Number(args.n)));
      return service.result(id);
    },
    pollInterval: '1s' as const,
  };
  const outOfTime = (name: JobToolName) => ({
    deadline: '3s' as const,
    onTimeout: ({ args }: JobView, context: Context) => {
      service.note(noteOf('out of time', name, context, Number(args.n)));
      return { n: args.n, late: true };
    },
  });
  const longRunning = (name: JobToolName, more: object = {}) =>
    new LongRunningFunctionTool({ ...base(name), ...hears(name), execute: order(name), ...more });
  const inProcess = (name: JobToolName, more: object = {}) =>
    longRunning(name, { inProcess: true, execute: build(name), ...more });
  const tools = [
    longRunning('order'),
    longRunning('watch', deployment === 'other' ? {} : watched),
    tool({
      ...base('decide'),
      execute: (args, context) => {
        context.longRunning = true;
        return order('decide')(args, context);
      },
    }),
    inProcess('build'),
    longRunning('soon', outOfTime('soon')),
    inProcess('build_soon', outOfTime('build_soon')),
    longRunning('quiet', { silenceTimeout: '3s' }),
  ];
  const rootAgent = new LlmAgent({
    name: 'desk',
    model: 'gemini-2.5-flash',
    modelRetry: { initialInterval: '200ms', maximumInterval: '1s' },
    tools: deployment === 'none' ? [] : tools,
  });
  return new App({ name: JOB_APP, rootAgent });
}

async function pause({ abortSignal }: Context): Promise<void> {
  await setTimeout(LOOK, undefined, { signal: abortSignal });
}
