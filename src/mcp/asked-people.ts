import type { ClientCapabilities, InputRequest } from '@modelcontextprotocol/server';
import { ownQuestion } from '../approvals/own-question.ts';
import { DecisionRefused, RequestNotPending } from '../client/client-errors.ts';
import type { HoldfastApi } from '../client/holdfast-api.ts';
import type { ApprovalRow } from '../contract/requests.ts';
import { shortDigest } from '../protocol/identity.ts';
import { defined, isRecord, parsedJson } from '../protocol/json.ts';
import { visibleJson, visibleText } from '../protocol/visible-text.ts';
import { declinableForm } from '../schema/declinable-form.ts';

/** Requests of one answer. */
const MOST_ASKED = 10;
/** Characters of a question in a form. A longer one is read on its page. */
const LONGEST_QUESTION = 8_000;

const REASON = { type: 'string', title: 'Reason', maxLength: 2_000 } as const;
const CONFIRMATION_FORM = {
  type: 'object' as const,
  properties: { approve: { type: 'boolean' as const, title: 'Approve the call' }, reason: REASON },
  required: ['approve'],
};

/** Types of fields that a form of MCP has. */
const FIELD_TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean']);

/** Questions to the client's person, each under the key of its request. */
export type Questions = Record<string, InputRequest>;

/** Names a request as it was shown: another one of its id has another key. */
function keyOf({ requestId, session, argsDigest }: ApprovalRow): string {
  return `${requestId}.${shortDigest(`${session} ${argsDigest}`)}`;
}

/**
 * The requests that the client's person can answer: confirmations and inputs by a form, credentials at a page, since no form of MCP
 * may ask for a secret. Undefined where there is none.
 *
 * @param pageOf where a browser shows a request; undefined where no page is known.
 */
export function questionsOf(
  requests: readonly ApprovalRow[],
  capabilities: ClientCapabilities | undefined,
  pageOf: (requestId: string) => string | undefined,
): Questions | undefined {
  const { elicitation } = capabilities ?? {};
  if (elicitation === undefined) return undefined;
  // A client that names no mode has forms.
  const hasForms = 'form' in elicitation || !('url' in elicitation);
  const hasPages = 'url' in elicitation;
  const asked = requests.flatMap((row): [ApprovalRow, InputRequest][] => {
    const message = questionText(row);
    const isForm = row.kind !== 'credential' && hasForms && message.length <= LONGEST_QUESTION;
    const url = row.kind === 'credential' && hasPages ? pageOf(row.requestId) : undefined;
    const params = url === undefined ? isForm && formOf(row) : { mode: 'url', url };
    return params
      ? [[row, { method: 'elicitation/create', params: { ...params, message } } as InputRequest]]
      : [];
  });
  if (asked.length === 0) return undefined;
  return Object.fromEntries(asked.slice(0, MOST_ASKED).map(([row, request]) => [keyOf(row), request]));
}

/** A request in words: who asks, for which call, with which arguments. */
export function questionText(row: ApprovalRow): string {
  const { kind, agent, tool, args } = row;
  if (kind === 'credential')
    return `${agent} asks for a credential for ${tool}. Give it on the page, and go on.`;
  const question = visibleText(ownQuestion(row));
  if (kind === 'input') return question;
  return `${agent} asks to run ${tool} with ${visibleJson(args)}. ${question}`.trim();
}

/** A person's replies to the questions of a turn. */
export interface Replies {
  /** Ids of the requests that have a reply: nobody asks for another one at once. */
  to: ReadonlySet<string>;
  /** Whether all of them leave their requests waiting: forms that were cancelled, declined inputs, decisions that don't count. */
  isAllLeft: boolean;
  /** Decisions that don't count. */
  refused: readonly DecisionRefused[];
}

/**
 * Gives the person's replies to the requests.
 *
 * @throws what the answers of {@link HoldfastApi.approvals} throw, but for a decision that doesn't count or comes late.
 */
export async function answerRequests(
  api: Pick<HoldfastApi, 'approvals'>,
  requests: readonly ApprovalRow[],
  responses: Readonly<Record<string, unknown>>,
): Promise<Replies> {
  const to = new Set<string>();
  const refused: DecisionRefused[] = [];
  let left = 0;
  for (const row of requests) {
    const response = responses[keyOf(row)];
    const { action, content } = isRecord(response) ? response : {};
    if (action !== 'accept' && action !== 'decline' && action !== 'cancel') continue;
    to.add(row.requestId);
    try {
      if (!(await giveReply(api, row, action, isRecord(content) ? content : {}))) left += 1;
    } catch (error) {
      if (error instanceof DecisionRefused) refused.push(error);
      // Else somebody has answered it in another channel.
      else if (!(error instanceof RequestNotPending)) throw error;
    }
  }
  return { to, isAllLeft: to.size > 0 && left + refused.length === to.size, refused };
}

/** Whether the turn may go on by it: a person who has opened a credential's page gives the credential there. */
async function giveReply(
  { approvals }: Pick<HoldfastApi, 'approvals'>,
  row: ApprovalRow,
  action: 'accept' | 'decline' | 'cancel',
  content: Record<string, unknown>,
): Promise<boolean> {
  const { requestId, session, argsDigest, kind } = row;
  const shown = { session, argsDigest };
  if (kind === 'confirmation' && action !== 'cancel') {
    const confirmed = action === 'accept' && content.approve === true;
    const reason = typeof content.reason === 'string' && content.reason !== '' ? content.reason : undefined;
    await approvals.confirm({ requestId }, { confirmed, shown, ...defined({ reason }) });
    return true;
  }
  if (kind !== 'input') return action === 'accept';
  const decline = declinableForm(row.responseSchema)?.decline;
  const isDeclined = action === 'decline' && decline !== undefined;
  if (action !== 'accept' && !isDeclined) return false;
  const response = isDeclined ? { [decline]: true } : givenAnswer(row, content);
  await approvals.provideInput({ requestId }, { response, shown });
  return true;
}

/** The form of a request. A schema that no form of MCP can have is asked for as JSON. */
function formOf(row: ApprovalRow) {
  if (row.kind === 'confirmation') return { mode: 'form', requestedSchema: CONFIRMATION_FORM };
  const schema = askedSchema(row);
  return { mode: 'form', requestedSchema: isFlat(schema) ? schema : answerForm(schema) };
}

/** MCP's forms can all be declined: the field for that is left out. */
function askedSchema({ responseSchema }: ApprovalRow): unknown {
  return declinableForm(responseSchema)?.form ?? responseSchema;
}

function answerForm(schema: unknown) {
  const answer = isField(schema)
    ? { title: 'Answer', ...schema }
    : { type: 'string', title: 'Answer', description: `JSON that matches ${JSON.stringify(schema ?? true)}` };
  return { type: 'object', properties: { answer }, required: ['answer'] };
}

function givenAnswer(row: ApprovalRow, content: Record<string, unknown>): unknown {
  const schema = askedSchema(row);
  if (isFlat(schema)) return content;
  const { answer } = content;
  if (isField(schema) || typeof answer !== 'string') return answer;
  const given = parsedJson(answer);
  return given === undefined ? answer : given;
}

function isFlat(schema: unknown): schema is Record<string, unknown> {
  if (!isRecord(schema) || schema.type !== 'object' || !isRecord(schema.properties)) return false;
  const known = new Set([
    'type',
    'properties',
    'required',
    'title',
    'description',
    'additionalProperties',
    '$schema',
  ]);
  return (
    Object.keys(schema).every((key) => known.has(key)) && Object.values(schema.properties).every(isField)
  );
}

function isField(schema: unknown): schema is Record<string, unknown> {
  return isRecord(schema) && FIELD_TYPES.has(schema.type);
}
