import { nextCommands } from '../../approvals/next-commands.ts';
import type { Decided } from '../../client/approvals/approvals.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { REQUEST_PREFIX } from '../../protocol/gate.ts';
import { tellReceipt } from '../approvals/receipt-text.ts';
import { requestLines } from '../approvals/request-text.ts';
import { assertResponse } from '../approvals/response-check.ts';
import { CliError } from '../cli-error.ts';
import { responseOf } from '../gates/ask-person.ts';
import type { Chat } from './chat.ts';

/** Requests that wait for people in this session. */
export async function showWaiting(chat: Chat): Promise<true> {
  const waiting = await chat.client.approvals.list(chat.names);
  const lines = waiting.flatMap((row) => [
    ...requestLines(row),
    ...nextCommands(row, chat.folder).map((command) => `  ${command}`),
  ]);
  if (lines.length === 0) lines.push('nothing waits for a person in this session');
  lines.push('holdfast approvals list shows all sessions');
  chat.view.answer(lines.map((line) => `  ${line}`));
  return true;
}

export async function approve(chat: Chat, argument: string): Promise<boolean> {
  const { row, rest } = await waitingOf(chat, 'approve', argument);
  if (rest !== '')
    throw new CliError('/approve takes a request at most; an edit: holdfast approvals approve');
  return await tell(chat, row, chat.client.approvals.confirm(nameOf(row), { confirmed: true, shown: row }));
}

export async function reject(chat: Chat, argument: string): Promise<boolean> {
  const { row, rest } = await waitingOf(chat, 'reject', argument);
  const reason = rest === '' ? {} : { reason: rest };
  return await tell(
    chat,
    row,
    chat.client.approvals.confirm(nameOf(row), { confirmed: false, shown: row, ...reason }),
  );
}

export async function answer(chat: Chat, argument: string): Promise<boolean> {
  const { row, rest } = await waitingOf(chat, 'answer', argument);
  if (row.kind !== 'input')
    throw new CliError(`/answer: ${row.requestId} asks for no answer; /waiting shows it`);
  if (rest === '') throw new CliError('/answer: say the answer: JSON, or text');
  const response = responseOf(row, rest);
  assertResponse(row, response);
  return await tell(chat, row, chat.client.approvals.provideInput(nameOf(row), { response, shown: row }));
}

/** The request that a command begins with, or the only one that waits. */
async function waitingOf(
  chat: Chat,
  command: string,
  argument: string,
): Promise<{ row: ApprovalRow; rest: string }> {
  const waiting = await chat.client.approvals.list(chat.names);
  const isNamed = argument.startsWith(REQUEST_PREFIX);
  const [, name = '', rest = ''] = /^(\S*)\s*(.*)$/s.exec(argument) ?? [];
  if (isNamed) {
    const row = waiting.find(({ requestId }) => requestId === name);
    if (row !== undefined) return { row, rest };
    throw new CliError(`/${command}: no request ${name} waits in this session; /waiting shows those that do`);
  }
  const [row, ...others] = waiting;
  if (row === undefined) throw new CliError(`/${command}: nothing waits for a person in this session`);
  if (others.length === 0) return { row, rest: argument };
  throw new CliError(
    `/${command}: several requests wait: name one of ${waiting.map(({ requestId }) => requestId).join(', ')}`,
  );
}

function nameOf({ requestId }: ApprovalRow): { requestId: string } {
  return { requestId };
}

async function tell(chat: Chat, row: ApprovalRow, sent: Promise<Decided>): Promise<boolean> {
  const receipt = await chat.answeredBy(row.requestId, sent);
  const line = (text = '') => chat.view.answer([`  ${text}`]);
  tellReceipt(row, receipt, { line, note: line });
  return true;
}
