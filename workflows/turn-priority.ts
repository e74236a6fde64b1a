import { type ActivityOptions, workflowInfo } from '@temporalio/workflow';
import { fairnessKeyOf } from '../src/protocol/identity.ts';
import { DEFAULT_PRIORITY } from '../src/protocol/turn.ts';

export type Priority = NonNullable<ActivityOptions['priority']>;

/** Whose turn or job it is. */
export interface User {
  app: string;
  userId: string;
}

/**
 * How Temporal puts the activities of a user's turns, and of jobs, into the order of a queue: users of an app have equal shares of
 * its workers, and within them lower priorities go first.
 *
 * @param priority of the message that the activity works for; one that the workflow was started with is another message's.
 */
export function turnPriority({ app, userId }: User, priority?: number): Priority {
  const fairnessKey = fairnessKeyOf(app, userId);
  const inherited = workflowInfo().priority?.priorityKey;
  const priorityKey = priority ?? (inherited ? DEFAULT_PRIORITY : undefined);
  return { fairnessKey, ...(priorityKey === undefined ? {} : { priorityKey }) };
}
