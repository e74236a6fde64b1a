import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { ArtifactBytes } from '../../src/artifacts/artifact-bytes.ts';
import { approvalHandlers } from '../../src/client/approvals/approval-handlers.ts';
import { Artifacts } from '../../src/client/artifacts/artifacts.ts';
import { StoredBytes, storedArtifacts } from '../../src/client/artifacts/stored-artifacts.ts';
import { direct } from '../../src/client/call.ts';
import { contextOf } from '../../src/client/client-context.ts';
import { storedCorpora } from '../../src/client/corpora/stored-corpora.ts';
import { credentialHandlers } from '../../src/client/credentials/credential-handlers.ts';
import { HoldfastApi } from '../../src/client/holdfast-api.ts';
import { GatewayClient } from '../../src/client/index.ts';
import { jobHandlers } from '../../src/client/jobs/job-handlers.ts';
import { storedMemories } from '../../src/client/memories/stored-memories.ts';
import { sessionHandlers } from '../../src/client/sessions/client-sessions.ts';
import { Sessions } from '../../src/client/sessions/sessions.ts';
import { storedApi } from '../../src/client/stored-api.ts';
import { steeringHandlers } from '../../src/client/turns/steering.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { credentialKeysOf } from '../../src/credentials/credential-keys.ts';
import { defineGateway } from '../../src/gateway/index.ts';
import { LlmAgent, LongRunningFunctionTool, requestInputTool, tool } from '../../src/index.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { calls, error, type TestEnvironment, text } from '../../src/testing/index.ts';
import { checkedFetch, DocumentCheck, fetchDocument } from '../gateway/document-check.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { openPlacedEnvironment } from '../setup/placed-environment.ts';
import type { Api } from './operation-row.ts';

/** Arguments of the model's calls, by their tools. */
const ARGS: Readonly<Record<string, Record<string, unknown>>> = {
  order: { thing: 'a shed' },
  pay: { amount: 5 },
  charge: {},
  hold: {},
  adk_request_input: {
    message: 'Which size?',
    response_schema: { type: 'object', properties: { size: { enum: ['S', 'L'] } }, required: ['size'] },
  },
};

/** A server, a worker, a store and a gateway, and the ways to what they do. */
export interface ContractScene {
  env: TestEnvironment;
  folder: string;
  check: DocumentCheck;
  /** The handlers without a gateway; `unread` has the fields of the last input that none of them has looked at. */
  direct: Api;
  /** A gateway over a `HoldfastClient`. */
  overHttp: Api;
  stored: Api;
  unread: ReadonlySet<string>;
  held: HeldTool;
  /** `amount` of each payment. */
  paid: number[];
  names(): SessionNames;
  /** Runs a turn for each message, one after another. */
  said(names: SessionNames, ...messages: string[]): Promise<SessionNames>;
  /** A turn whose calls wait for people; a word of its message is a call of that tool. */
  asking(message: string, names?: SessionNames): Promise<readonly [ApprovalRow, ...ApprovalRow[]]>;
  /** A turn whose call waits for a job. */
  parked(names?: SessionNames): Promise<{ jobId: string; token: string; names: SessionNames }>;
  /** A turn whose call runs until it is let go. */
  holding(names?: SessionNames): Promise<{ names: SessionNames; invocationId: string }>;
  close(): Promise<void>;
}

export async function openContractScene(): Promise<ContractScene> {
  const folder = join(mkdtempSync(join(tmpdir(), 'holdfast-contract-')), '.holdfast');
  const credentialKeys = credentialKeysOf({ desk: randomBytes(32).toString('base64') });
  const tokens = new Map<string, string>();
  const paid: number[] = [];
  const held = new HeldTool();
  const order = new LongRunningFunctionTool({
    name: 'order',
    description: 'Orders a thing.',
    parameters: z.object({ thing: z.string() }),
    execute: async (_args, { job }) => void tokens.set(job.id, job.token),
  });
  const pay = tool({
    name: 'pay',
    description: 'Pays money back.',
    parameters: z.object({ amount: z.number() }),
    requireConfirmation: true,
    approval: { allowEdit: true },
    execute: ({ amount }, context) => {
      paid.push(amount);
      return { paid: amount, by: context?.toolConfirmation?.payload ?? null };
    },
  });
  const charge = tool({
    name: 'charge',
    description: 'Charges a card.',
    parameters: z.object({}),
    authConfig: { authScheme: { type: 'http', scheme: 'bearer' }, credentialKey: 'cards' },
    execute: () => ({ charged: true }),
  });
  const env = await openPlacedEnvironment({
    agents: [
      new LlmAgent({
        name: 'desk',
        model: 'gemini-2.5-flash',
        tools: [order, pay, charge, requestInputTool, held.tool()],
      }),
    ],
    folder,
    worker: { credentialKeys },
    // All that is refused comes from one address.
    gateway: defineGateway({
      access: { rateLimits: { strangers: { perSecond: 10_000, burst: 10_000 } } },
    }),
    script: ({ contents = [] }) => {
      const parts = contents.at(-1)?.parts ?? [];
      if (parts.some(({ functionResponse }) => functionResponse)) return text('done');
      const words = (parts.at(-1)?.text ?? '').split(' ');
      if (words[0] === 'fail') return error(400, 'no');
      const asked = words.flatMap((name) => (ARGS[name] === undefined ? [] : { name, args: ARGS[name] }));
      return asked.length === 0 ? text(`answer to ${words.join(' ')}`) : calls(asked);
    },
  });
  const context = contextOf({
    temporal: env.temporal,
    store: env.store,
    credentialKeys,
    searchAttributes: true,
  });
  const watch = watched({
    ...{ ...approvalHandlers, ...credentialHandlers, ...jobHandlers, ...sessionHandlers },
    ...{ ...steeringHandlers, ...storedArtifacts, ...storedCorpora, ...storedMemories },
  });
  const check = new DocumentCheck(await fetchDocument(env.gateway.url));
  const names = () => ({
    app: 'test',
    userId: `ada-${randomUUID()}`,
    sessionId: `it's "${randomUUID()}" \\ %2F ü`,
  });
  return {
    ...{ env, folder, check, held, paid, names },
    direct: new DirectApi(direct(watch.handlers as never, context), env.store) as unknown as Api,
    overHttp: new GatewayClient({ ...env.gateway, fetch: checkedFetch(check) }) as unknown as Api,
    stored: storedApi(env.store, credentialKeys) as unknown as Api,
    unread: watch.unread,
    async said(of, ...messages) {
      for (const message of messages) await env.run({ ...of, message });
      return of;
    },
    async asking(message, of = names()) {
      const [first, ...more] = await env.waiting(await env.send({ ...of, message }));
      if (first === undefined) throw new Error(`nobody is asked for ${message}`);
      return [first, ...more];
    },
    async parked(of = names()) {
      const turn = await env.send({ ...of, message: 'order' });
      const [job] = await env.jobs(turn);
      const jobId = job?.jobId ?? '';
      return { jobId, token: tokens.get(jobId) ?? '', names: of };
    },
    async holding(of = names()) {
      held.hold();
      const { invocationId } = await env.send({ ...of, message: 'hold' });
      await held.begun();
      return { names: of, invocationId };
    },
    async close() {
      await env.close();
      rmSync(join(folder, '..'), { recursive: true, force: true });
    },
  };
}

/** `HoldfastClient` without what is no operation, over handlers of a test. */
class DirectApi extends HoldfastApi {
  override readonly sessions: Sessions;
  override readonly artifacts: Artifacts;
  override readonly sendMessage = none;
  override readonly turn = none;
  override readonly follow = none;
  override readonly stream = none;

  constructor(call: HoldfastApi['call'], store: TestEnvironment['store']) {
    super(call);
    this.sessions = new Sessions(call, none);
    this.artifacts = new Artifacts(
      call,
      new StoredBytes(() => ({ store, bytes: ArtifactBytes.of(store.blobs) })),
    );
  }
}

function none(): never {
  throw new TypeError('this is no operation of a noun');
}

type Handler = (input: object, context: unknown, caller: unknown) => Promise<unknown>;

/**
 * Handlers that note which fields of their input nobody has looked at.
 *
 * A handler looks at each field that it is given: by its name, or with the rest that it hands on. So a handler that names its fields
 * and forgets one is found out, as a field that joins the contract alone would be. A rest counts as looked at: whether it comes to
 * something is seen in the answers, and in what is done.
 */
function watched(handlers: object): { handlers: object; unread: Set<string> } {
  const unread = new Set<string>();
  const watching = Object.entries(handlers as Record<string, Handler>).map(([name, handle]) => [
    name,
    async (input: object, context: unknown, caller: unknown) => {
      unread.clear();
      for (const field of Object.keys(input)) unread.add(`${name}: ${field}`);
      const seen = new Proxy(input, {
        get(target, field) {
          unread.delete(`${name}: ${String(field)}`);
          return Reflect.get(target, field);
        },
      });
      return await handle(seen, context, caller);
    },
  ]);
  return { handlers: Object.fromEntries(watching), unread };
}
