import { defineSearchAttributeKey } from '@temporalio/common';
import { DEFAULT_LISTED } from '../../contract/lists.ts';
import type { ListTurns, TurnRow } from '../../contract/turns.ts';
import { defined } from '../../protocol/json.ts';
import { AGENT_TURN, type SearchAttributeName } from '../../protocol/names.ts';
import type { ClientContext } from '../client-context.ts';
import { InvalidTurn } from '../client-errors.ts';

/** Parts of the workflow id of a session. An agent below has more. */
const PARTS = 3;
/** Workflows that are looked at for one list: those of agents below turns are among them. */
const MOST_SEEN = 10_000;

/** @throws InvalidTurn where the client's option `searchAttributes` is off. */
export async function turnsBy(
  { temporal, searchAttributes }: ClientContext,
  { status, limit = DEFAULT_LISTED, app, userId, sessionId }: ListTurns,
): Promise<TurnRow[]> {
  if (!searchAttributes)
    throw new InvalidTurn(
      'turns: the search attributes of Holdfast are not used here: `holdfast doctor` says how to register them',
    );
  const conditions = Object.entries({
    WorkflowType: AGENT_TURN,
    ExecutionStatus: status === 'failed' ? 'Failed' : 'Running',
    HoldfastStatus: status === 'failed' ? undefined : status,
    ...{ HoldfastApp: app, HoldfastUser: userId, HoldfastSession: sessionId },
  });
  const query = conditions
    // Texts with escapes are read otherwise by the server: what it finds without them is narrowed below.
    .flatMap(([name, text]) => (JSON.stringify(text) === `"${text}"` ? [`${name} = "${text}"`] : []))
    .join(' AND ');
  const turns: TurnRow[] = [];
  let seen = 0;
  for await (const run of temporal.workflow.list({ query })) {
    if (turns.length === limit || ++seen > MOST_SEEN) break;
    const { workflowId, runId, startTime, typedSearchAttributes } = run;
    const label = (name: SearchAttributeName) =>
      typedSearchAttributes.get(defineSearchAttributeKey(name, 'KEYWORD')) ?? '';
    const turn = {
      ...{ app: label('HoldfastApp'), userId: label('HoldfastUser'), sessionId: label('HoldfastSession') },
      ...defined({ agent: label('HoldfastAgent') || undefined }),
      status: status === 'failed' ? status : label('HoldfastStatus'),
      since: startTime.getTime(),
      ...{ workflowId, runId },
    };
    // A right to one user's turns is a right to no other's, however the server reads a text of the query.
    const isWanted = Object.entries(defined({ app, userId, sessionId })).every(
      ([field, name]) => Reflect.get(turn, field) === name,
    );
    if (isWanted && workflowId.split('/').length === PARTS) turns.push(turn);
  }
  return turns;
}
