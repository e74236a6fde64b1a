import type { ClientCapabilities, InputRequest } from '@modelcontextprotocol/server';
import { ownQuestion } from '../approvals/own-question.ts';
import type { HoldfastApi } from '../client/holdfast-api.ts';
import type { ApprovalRow } from '../contract/requests.ts';
import { shortDigest } from '../protocol/identity.ts';
import { defined, isRecord, parsedJson } from '../protocol/json.ts';
import { visibleJson, visibleText } from '../protocol/visible-text.ts';

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

/**
 * Gives the person's answers to the requests. A request that the person has cancelled goes on waiting.
 *
 * @returns ids of the requests that were answered.
 * @throws what the answers of {@link HoldfastApi.approvals} throw.
 */
export async function answerRequests(
  { approvals }: Pick<HoldfastApi, 'approvals'>,
  requests: readonly ApprovalRow[],
  responses: Readonly<Record<string, unknown>>,
): Promise<ReadonlySet<string>> {
  const answered = new Set<string>();
  for (const row of requests) {
    const { requestId, session, argsDigest, kind } = row;
    const response = responses[keyOf(row)];
    const { action, content: given } = isRecord(response) ? response : {};
    if (action !== 'accept' && action !== 'decline') continue;
    const content = isRecord(given) ? given : {};
    const shown = { session, argsDigest };
    if (kind === 'confirmation') {
      const confirmed = action === 'accept' && content.approve === true;
      const reason = typeof content.reason === 'string' && content.reason !== '' ? content.reason : undefined;
      await approvals.confirm({ requestId }, { confirmed, shown, ...defined({ reason }) });
    } else if (kind === 'input' && action === 'accept') {
      await approvals.provideInput({ requestId }, { response: givenAnswer(row, content), shown });
    } else continue;
    answered.add(requestId);
  }
  return answered;
}

/** The form of a request. A schema that no form of MCP can have is asked for as JSON. */
function formOf({ kind, responseSchema }: ApprovalRow) {
  if (kind === 'confirmation') return { mode: 'form', requestedSchema: CONFIRMATION_FORM };
  return {
    mode: 'form',
    requestedSchema: isFlat(responseSchema) ? responseSchema : answerForm(responseSchema),
  };
}

function answerForm(schema: unknown) {
  const answer = isField(schema)
    ? { title: 'Answer', ...schema }
    : { type: 'string', title: 'Answer', description: `JSON that matches ${JSON.stringify(schema ?? true)}` };
  return { type: 'object', properties: { answer }, required: ['answer'] };
}

function givenAnswer({ responseSchema }: ApprovalRow, content: Record<string, unknown>): unknown {
  if (isFlat(responseSchema)) return content;
  const { answer } = content;
  if (isField(responseSchema) || typeof answer !== 'string') return answer;
  return parsedJson(answer) ?? answer;
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
