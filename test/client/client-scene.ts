import { randomUUID } from 'node:crypto';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import type { Content } from '../../src/events/content.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import type { Store } from '../../src/store/store.ts';
import { call, calls, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

/** For answers that a worker gives: on a slow machine the default of 5 s is none that a test may rest on. */
export const PATIENT = { timeout: 120_000 };

const lastText = (contents: readonly Content[] | undefined) =>
  contents?.findLast(({ role, parts }) => role === 'user' && parts?.some((part) => part.text !== undefined))
    ?.parts?.[0]?.text ?? '';

/** What begins with "hold" is answered after calls of the held tool, "hold two" after two of them; all else at once. */
const script: GeminiScript = ({ contents }) => {
  const said = lastText(contents);
  const answered = contents?.at(-1)?.parts?.some((part) => part.functionResponse !== undefined);
  if (!said.startsWith('hold') || answered) return text(`answer to ${said.slice(0, 40)}`);
  return said.startsWith('hold two') ? calls([{ name: 'hold' }, { name: 'hold' }]) : call('hold');
};

/** Server, worker and store, and clients of both kinds. */
export interface ClientScene {
  environment: TurnEnvironment;
  /** Has the workers' store. */
  client: HoldfastClient;
  /** Has none. */
  plain: HoldfastClient;
  held: HeldTool;
  /** Sends "hold" to a new session, or the named one, and waits until its call is held. */
  holding(names?: SessionNames, message?: string): Promise<{ names: SessionNames; first: TurnHandle }>;
  /** Texts of a session's messages and answers, in order. */
  said(names: SessionNames): Promise<string[]>;
}

export function newSession(): SessionNames {
  return { app: 'test', userId: 'ada', sessionId: randomUUID() };
}

/** @param serverConfig the Temporal server is the scene's own, with this dynamic configuration. */
export async function openClientScene(serverConfig?: readonly string[]): Promise<ClientScene> {
  const held = new HeldTool();
  const environment = await openTurnEnvironment({
    agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [held.tool()] })],
    script,
    serverConfig,
  });
  const { temporal, store } = environment;
  const client = new HoldfastClient({ temporal, store, searchAttributes: true });
  return {
    environment,
    client,
    plain: new HoldfastClient({ temporal, searchAttributes: true }),
    held,
    async holding(names = newSession(), message = 'hold') {
      const first = await client.sendMessage({ ...names, message, messageId: message });
      await held.begun();
      return { names, first };
    },
    said: (names) => textsOf(store, names),
  };
}

async function textsOf(store: Store, names: SessionNames): Promise<string[]> {
  const events = await store.sessions.readEvents(names);
  return events.flatMap(({ event }) =>
    (event.content?.parts ?? []).flatMap((part) => (part.text === undefined ? [] : [part.text])),
  );
}
