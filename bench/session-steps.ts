import { randomUUID } from 'node:crypto';
import { LlmAgent } from '../src/agents/llm-agent.ts';
import { PROTOCOL_VERSION } from '../src/contract/version.ts';
import { createEventActions } from '../src/events/event-actions.ts';
import { buildRequest } from '../src/flows/build-request.ts';
import { StepContext } from '../src/flows/step-context.ts';
import { type AskedStep, recordOf } from '../src/flows/step-draft.ts';
import { draftFromResponse } from '../src/flows/step-response.ts';
import { usageOf } from '../src/flows/step-usage.ts';
import { transcriptView } from '../src/flows/transcript.ts';
import type { TranscriptCache } from '../src/flows/transcript-cache.ts';
import { PluginManager } from '../src/plugins/plugin-manager.ts';
import { invocationIdOf } from '../src/protocol/identity.ts';
import type { PlannedCall } from '../src/protocol/step.ts';
import type { SessionNames } from '../src/store/sessions/session-names.ts';
import type { Store } from '../src/store/store.ts';
import { tool } from '../src/tools/function-tool.ts';
import { FakeLlm } from './fake-llm.ts';

const NO_PLUGINS = new PluginManager();

const agent = new LlmAgent({
  name: 'bench',
  model: new FakeLlm(),
  instruction: 'Work until all is done.',
  tools: [
    tool({
      name: 'work',
      description: 'returns bytes',
      parameters: { type: 'object', properties: { index: { type: 'integer' } }, required: ['index'] },
      execute: () => ({}),
    }),
  ],
});

/** Times of a step, in milliseconds. */
export interface StepTimes {
  open: number;
  transcript: number;
  request: number;
  commit: number;
  total: number;
  /** How many events the step's transcript had. */
  events: number;
}

export interface TurnPlan {
  /** Calls of each step that makes any; one more step answers. */
  steps: number;
  calls: number;
  /** Bytes that each call returns. */
  resultBytes: number;
}

let startedAt = 0;

/** Turns of a session with all that a worker does for them, but for the model and the tools. */
export class BenchSession {
  readonly #store: Store;
  readonly #names: SessionNames = { app: 'bench', userId: 'ada', sessionId: randomUUID() };

  constructor(store: Store) {
    this.#store = store;
  }

  async turn(transcripts: TranscriptCache, plan: TurnPlan): Promise<StepTimes[]> {
    const times: StepTimes[] = [];
    for await (const step of this.steps(transcripts, plan)) times.push(step);
    return times;
  }

  /** A turn, as far as it is asked for. */
  async *steps(transcripts: TranscriptCache, plan: TurnPlan): AsyncGenerator<StepTimes, void> {
    const { steps, calls, resultBytes } = plan;
    startedAt += 1;
    const messageId = randomUUID();
    const { app, userId, sessionId } = this.#names;
    const invocationId = invocationIdOf(app, userId, sessionId, messageId);
    const identity = { ...this.#names, messageId };
    let session: string | undefined;
    for (let step = 1; step <= steps + 1; step += 1) {
      const place = { invocationId, runKey: invocationId, step, fence: { startedAt, invocation: 1 }, seq: 0 };
      const count = step > steps ? 0 : calls;
      const parts =
        count === 0
          ? [{ text: 'done' }]
          : Array.from({ length: count }, (_, index) => ({
              functionCall: { name: 'work', args: { index } },
            }));
      const message = {
        invocationId,
        author: 'user',
        content: { role: 'user', parts: [{ text: 'Please work.' }] },
        actions: createEventActions(),
      };

      const begun = performance.now();
      const position = { ...place, ...(session === undefined ? { identity, message } : { session }) };
      const known = transcripts.known(position);
      const opened = await this.#store.turns.openStep({ ...position, ...known.ask });
      if (opened.kind !== 'open') throw new Error(`the step was ${opened.kind}`);
      session = opened.session;
      const open = performance.now();
      const transcript = await transcripts.read(known, opened, () =>
        this.#store.sessions.readEvents({ ...this.#names, limit: Number.MAX_SAFE_INTEGER }),
      );
      const read = performance.now();
      const { names, state, usage } = opened;
      const { init } = new StepContext({
        ...{ names, agent, invocationId, state, runConfig: {} },
        userContent: transcript.message,
        abortSignal: new AbortController().signal,
        transcript: transcriptView(transcript, invocationId),
        services: {},
      });
      const { request } = await buildRequest({
        ...{ agent, init, plugins: NO_PLUGINS },
        ...{ toolFactories: new Map(), toolEdits: [], markUntrusted: false },
      });
      const built = performance.now();
      const asked: AskedStep = {
        ...{ session, invocationId, runKey: invocationId, step, usage },
        ...{ agent: agent.name, model: request.model ?? '', prices: {} },
      };
      const answer = { content: { role: 'model', parts } };
      const draft = await draftFromResponse(
        asked,
        agent,
        {
          ...{ response: answer, usage: usageOf(answer, asked), events: [], pauses: false },
          ...{ actions: () => undefined, codeExecutor: undefined, toolEdits: undefined, planned: undefined },
          tools: new Map(Object.entries(request.toolsDict)),
        },
        transcript.callIds,
      );
      const { outcome } = await this.#store.turns.commitStep({ ...place, session, ...recordOf(draft) });
      const committed = performance.now();

      const times: StepTimes = {
        open: open - begun,
        transcript: read - open,
        request: built - read,
        commit: committed - built,
        total: committed - begun,
        events: transcript.seq,
      };
      if (outcome.kind === 'calls') await this.#run(session, invocationId, outcome.calls, resultBytes);
      yield times;
    }
  }

  async #run(
    session: string,
    runKey: string,
    calls: readonly PlannedCall[],
    resultBytes: number,
  ): Promise<void> {
    const work = calls.map(async ({ callKey, callId, tool: name }) => {
      await this.#store.turns.beginCall({
        ...{ session, runKey, callKey, callId, tool: name },
        argsDigest: `v${PROTOCOL_VERSION}`,
        wantArgs: false,
      });
      const response = { data: 'x'.repeat(resultBytes) };
      await this.#store.turns.settleCall({ session, callKey, response, failed: false, actions: {} });
    });
    await Promise.all(work);
  }
}
