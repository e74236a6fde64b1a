import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { HoldfastClient, TurnHandle } from '../../src/client/index.ts';
import { type CredentialKeys, credentialKeysOf } from '../../src/credentials/credential-keys.ts';
import { defineGateway } from '../../src/gateway/index.ts';
import { type Content, LlmAgent, LongRunningFunctionTool } from '../../src/index.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { call, type TestEnvironment, text } from '../../src/testing/index.ts';
import type { JobView } from '../../src/tools/job-options.ts';
import { openPlacedEnvironment } from './placed-environment.ts';

/** What a service is told with an order. */
export interface Order {
  jobId: string;
  callbackUrl: string;
  token: string;
}

/**
 * A desk whose tool orders things from a service that a test stands in for. What it is told is `park <thing>`, after which the turn
 * waits; `tell <thing>`, after which it goes on; or `early <thing>`, where the service has done it before the tool returns.
 */
export interface JobDesk {
  env: TestEnvironment;
  /** What tokens are signed with. */
  keys: CredentialKeys;
  agent: LlmAgent;
  /** The order of a thing, once the tool has given it. */
  order(thing: string): Promise<Order>;
  /** Jobs that the tool was told nobody wants any more. */
  cancelled: string[];
  /** Sends what a turn begins with to a new session, or the named one. */
  begin(
    message: string,
    names?: SessionNames,
  ): Promise<{ names: SessionNames; turn: TurnHandle; thing: string }>;
  /** What the model was told of a session's calls, newest last, and what it said. */
  said(names: SessionNames): Promise<string[]>;
}

const THINGS = z.object({ thing: z.string(), kind: z.enum(['park', 'tell', 'early']) });

export async function openJobDesk(): Promise<JobDesk> {
  const orders = new Map<string, PromiseWithResolvers<Order>>();
  const cancelled: string[] = [];
  const keys = credentialKeysOf({ desk: randomBytes(32).toString('base64') });
  const orderOf = (thing: string) => {
    const known = orders.get(thing) ?? Promise.withResolvers<Order>();
    orders.set(thing, known);
    return known;
  };
  const tool = new LongRunningFunctionTool({
    name: 'order',
    description: 'Orders a thing.',
    parameters: THINGS,
    execute: async ({ thing, kind }, { job }) => {
      const { id: jobId, callbackUrl, token } = job;
      orderOf(thing).resolve({ jobId, callbackUrl, token });
      if (kind === 'early') await tell({ callbackUrl, token }, 'complete', { result: { early: thing } });
      return kind === 'tell' ? { ordered: thing } : undefined;
    },
    cancel: ({ id }: JobView) => {
      cancelled.push(id);
    },
  });
  const agent = new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [tool] });
  const env = await openPlacedEnvironment({
    agents: [agent],
    worker: { credentialKeys: keys },
    // All that is refused comes from one address.
    gateway: defineGateway({
      access: { rateLimits: { strangers: { perSecond: 10_000, burst: 10_000 } } },
    }),
    script: ({ contents = [] }) => {
      const parts = contents.at(-1)?.parts ?? [];
      const told = parts.flatMap(({ functionResponse }) => functionResponse?.response ?? []);
      if (told.length > 0) return text(`told ${JSON.stringify(told.at(-1)).slice(0, 200)}`);
      const [kind = '', thing = ''] = (parts.at(-1)?.text ?? '').split(' ');
      return ['park', 'tell', 'early'].includes(kind) ? call('order', { thing, kind }) : text('nothing');
    },
  });
  return {
    env,
    agent,
    keys,
    cancelled,
    order: (thing) => orderOf(thing).promise,
    async begin(message, names = { app: 'test', userId: 'ada', sessionId: randomUUID() }) {
      const thing = randomUUID();
      const turn = await env.send({ ...names, message: `${message} ${thing}` });
      return { names, turn, thing };
    },
    async said(names) {
      const events = await env.store.sessions.readEvents(names);
      return events.flatMap(({ event }) =>
        (event.content?.parts ?? []).flatMap((part) =>
          event.author !== 'user' && part.text ? [part.text] : [],
        ),
      );
    },
  };
}

/** What a service says, by HTTP. */
export async function tell(
  { callbackUrl, token }: Pick<Order, 'callbackUrl' | 'token'>,
  what: 'complete' | 'fail' | 'progress',
  body: object,
): Promise<Response> {
  return await fetch(`${callbackUrl}/${what}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

/** A response to the call of a job, as ADK's clients send it. */
export async function responseTo(
  client: HoldfastClient,
  jobId: string,
  response: Record<string, unknown>,
  willContinue?: true,
): Promise<Content> {
  const job = await client.jobs.get(jobId);
  if (job === undefined) throw new Error(`there is no job ${jobId}`);
  const { callId: id, tool: name } = job;
  const more = willContinue === undefined ? {} : { willContinue };
  return { role: 'user', parts: [{ functionResponse: { id, name, response, ...more } }] };
}
