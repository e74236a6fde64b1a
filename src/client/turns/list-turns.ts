import { defineSearchAttributeKey } from '@temporalio/common';
import { DEFAULT_LISTED } from '../../contract/lists.ts';
import { type ListTurns, listTurns, type TurnRow } from '../../contract/turns.ts';
import { AGENT_TURN, type SearchAttributeName } from '../../protocol/names.ts';
import { checkedInput } from '../checked-input.ts';
import type { ClientContext } from '../client-context.ts';
import { InvalidTurn } from '../client-errors.ts';

/** Parts of the workflow id of a session. An agent below has more. */
const PARTS = 3;

/** @throws InvalidTurn */
export async function turnsBy(
  { temporal, searchAttributes }: ClientContext,
  given: ListTurns,
): Promise<TurnRow[]> {
  const { status, limit = DEFAULT_LISTED, ...whose } = checkedInput(listTurns, given).input;
  if (!searchAttributes)
    throw new InvalidTurn(
      'turns: the search attributes of Holdfast are not used here: `holdfast doctor` says how to register them',
    );
  const wanted = { app: 'HoldfastApp', userId: 'HoldfastUser', sessionId: 'HoldfastSession' } as const;
  const conditions = Object.entries({
    WorkflowType: AGENT_TURN,
    ExecutionStatus: status === 'failed' ? 'Failed' : 'Running',
    HoldfastStatus: status === 'failed' ? undefined : status,
    ...Object.fromEntries(
      Object.entries(wanted).map(([field, name]) => [name, whose[field as keyof typeof whose]]),
    ),
  });
  const query = conditions
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name} = ${JSON.stringify(value)}`]))
    .join(' AND ');
  const turns: TurnRow[] = [];
  for await (const run of temporal.workflow.list({ query, pageSize: limit })) {
    if (turns.length === limit) break;
    const { workflowId, runId, startTime, typedSearchAttributes } = run;
    const label = (name: SearchAttributeName) =>
      typedSearchAttributes.get(defineSearchAttributeKey(name, 'KEYWORD')) ?? '';
    const names = {
      app: label(wanted.app),
      userId: label(wanted.userId),
      sessionId: label(wanted.sessionId),
    };
    // A right to one user's turns is a right to no other's, however the server reads a text of the query.
    const isWanted = Object.entries(names).every(
      ([field, name]) => (whose[field as keyof typeof names] ?? name) === name,
    );
    if (!isWanted || workflowId.split('/').length !== PARTS) continue;
    const stands = status === 'failed' ? status : label('HoldfastStatus');
    turns.push({
      ...names,
      agent: label('HoldfastAgent'),
      status: stands,
      since: startTime.getTime(),
      workflowId,
      runId,
    });
  }
  return turns;
}
