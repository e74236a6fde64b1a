import { randomUUID } from 'node:crypto';
import type { Content } from '../../src/events/content.ts';
import type { Event } from '../../src/events/event.ts';
import { draftOf } from '../../src/flows/draft-event.ts';
import { PluginFailed } from '../../src/plugins/plugin-failed.ts';
import type { DraftEvent, EventKind } from '../../src/store/store.ts';
import type { InvocationContext } from '../../src/tools/invocation-context.ts';
import { thrownMessage } from '../../src/tools/thrown-message.ts';
import type { UserCode } from '../user-code.ts';

const HOOK = 'onEventCallback';

/**
 * An event as plugins let it be stored: what they return takes its place, and what they change in it counts. Its calls and
 * responses stay, by id and name: those are run, and answered, by what the model has said. What an event of kind `request` asks
 * stays as it is, whatever they return: people are to decide about what will run.
 *
 * @throws PluginFailed
 */
export async function seenEvent(
  code: UserCode,
  invocationContext: InvocationContext,
  draft: DraftEvent,
  kind?: EventKind,
): Promise<DraftEvent> {
  if (!code.plugins.has(HOOK)) return draft;
  const copy = copyOf(draft);
  // The store says what is wrong with it.
  if (copy === undefined) return draft;
  const calls = callsIn(draft.content);
  const { author, branch } = draft;
  const event = { ...copy, id: randomUUID(), timestamp: Date.now() };
  const answer: Partial<Event> = (await code.plugin(HOOK, { invocationContext, event })) ?? event;
  const given = { ...answer, actions: answer.actions ?? event.actions };
  try {
    const seen = draftOf(
      {
        ...(kind === 'request' ? askingAs(draft, given) : given),
        ...(answer.author || author === undefined ? {} : { author }),
        ...(answer.branch || branch === undefined ? {} : { branch }),
      },
      invocationContext,
    );
    if (callsIn(seen.content) === calls) return seen;
  } catch (error) {
    throw refused(code, thrownMessage(error));
  }
  throw refused(
    code,
    'the event must keep its calls and responses, with their ids and names, in their order; their arguments may change',
  );
}

function askingAs({ content, longRunningToolIds, actions }: DraftEvent, given: Partial<Event>) {
  const { requestedToolConfirmations, requestedAuthConfigs } = actions;
  return {
    ...given,
    content,
    longRunningToolIds,
    actions: { ...given.actions, requestedToolConfirmations, requestedAuthConfigs },
  };
}

/** A plugin that fails may have changed what it was given; as JSON carries it, or undefined where that can't. */
function copyOf(draft: DraftEvent): DraftEvent | undefined {
  try {
    return JSON.parse(JSON.stringify(draft));
  } catch {
    return undefined;
  }
}

function refused({ plugins }: UserCode, problem: string): PluginFailed {
  const plugin = plugins.plugins.map(({ name }) => name).join(', ');
  return new PluginFailed({ plugin, hook: HOOK, problem, retryable: false });
}

function callsIn(content: Content | undefined): string {
  const calls = (content?.parts ?? []).flatMap(
    ({ functionCall, functionResponse, executableCode, codeExecutionResult }) => {
      if (functionCall !== undefined) return [['call', functionCall.id, functionCall.name]];
      if (functionResponse !== undefined) return [['response', functionResponse.id, functionResponse.name]];
      if (executableCode !== undefined) return [['code']];
      return codeExecutionResult === undefined ? [] : [['result']];
    },
  );
  return JSON.stringify(calls);
}
