import type { Content } from '../src/events/content.ts';
import type { ReadAnswer, ReadAnswerInput } from '../src/protocol/own-workflow.ts';
import { PAYLOAD_LIMIT } from '../src/protocol/sizes.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { attempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { reportUnexpected } from './logging.ts';

/** Events that are looked at from the turn's end: its last ones may say nothing. */
const LATEST = 100;

/** `holdfast.readAnswer`: what the result of a turn only refers to, as far as it may travel. */
export function readAnswer(
  dependencies: ActivityDependencies,
): (input: ReadAnswerInput) => Promise<ReadAnswer> {
  return (input) => {
    const { app, sessionId, invocationId } = input;
    return attempt(
      () => read(dependencies, input),
      reportUnexpected(dependencies, { app, sessionId, invocationId }),
    );
  };
}

async function read(
  { store }: ActivityDependencies,
  { app, userId, sessionId, invocationId, events, key, content: withContent }: ReadAnswerInput,
): Promise<ReadAnswer> {
  const names = { app, userId, sessionId };
  let left = PAYLOAD_LIMIT;
  const whatFits = <T>(value: T | undefined): T | undefined => {
    const bytes = Buffer.byteLength(JSON.stringify(value) ?? '');
    if (bytes > left) return undefined;
    left -= bytes;
    return value;
  };
  const value = key === undefined ? undefined : whatFits(await store.readReference(names, key));
  const content = withContent ? whatFits(await lastContent()) : undefined;
  return {
    v: PROTOCOL_VERSION,
    ...(value === undefined ? {} : { value }),
    ...(content === undefined ? {} : { content }),
  };

  async function lastContent(): Promise<Content | undefined> {
    const { from, to } = events;
    const after = Math.max(from - 1, to - LATEST, 0);
    const rows = await store.readEvents({ ...names, after, limit: LATEST });
    const own = rows.filter(({ seq, event }) => seq <= to && event.invocationId === invocationId);
    return own.findLast(({ event }) => event.author !== 'user' && event.content !== undefined)?.event.content;
  }
}
