import type { ApproverKey } from '../../approvals/approver-key.ts';
import { credentialOf, credentialTypesOf } from '../../approvals/credential-types.ts';
import { argumentsToRun, secretInEdit } from '../../approvals/edited-arguments.ts';
import { nextCommands } from '../../approvals/next-commands.ts';
import { needsAttestation } from '../../approvals/voting.ts';
import type { Decided } from '../../client/approvals/approvals.ts';
import type { HoldfastApi } from '../../client/holdfast-api.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { isRecord, parsedJson } from '../../protocol/json.ts';
import { attestDecision } from '../approvals/approver.ts';
import { tellReceipt } from '../approvals/receipt-text.ts';
import { questionLines } from '../approvals/request-text.ts';
import { responseProblem } from '../approvals/response-check.ts';
import { changeLines } from '../approvals/shown-arguments.ts';
import { SECRETS } from '../credentials/credential-commands.ts';

/** A person who can answer. Undefined means put off, or no answer. */
export interface Person {
  tell(line: string): void;
  /** @param begun stands in the line already, to be changed. */
  ask(question: string, begun?: string): Promise<string | undefined>;
  /** Without showing it. Absent where nothing can be hidden. */
  secret?(question: string): Promise<string | undefined>;
}

export interface AskOptions {
  api: Pick<HoldfastApi, 'approvals' | 'credentials'>;
  /** Signs what the person decides. */
  approver: ApproverKey | undefined;
  folder: string;
}

/** Asks a person what a request asks, and gives on what they say. False where they put it off. */
export async function askPerson(row: ApprovalRow, person: Person, options: AskOptions): Promise<boolean> {
  for (const line of questionLines(row)) person.tell(line);
  const receipt = await askForAnswer(row, person, options);
  if (receipt === undefined) {
    person.tell('it waits on; it is answered by');
    for (const command of nextCommands(row, options.folder)) person.tell(`  ${command}`);
    return false;
  }
  tellReceipt(row, receipt, { line: person.tell, note: person.tell });
  return true;
}

type Answer = Decided | undefined;

async function askForAnswer(row: ApprovalRow, person: Person, options: AskOptions): Promise<Answer> {
  if (row.kind === 'input') return await inputOf(row, person, options);
  if (row.kind === 'credential') return await secretOf(row, person, options);
  return await decisionOf(row, person, options);
}

async function decisionOf(row: ApprovalRow, person: Person, options: AskOptions): Promise<Answer> {
  if (options.approver === undefined && needsAttestation(row)) {
    person.tell('it wants a signed decision: this one is not signed without --as NAME --key FILE');
  }
  const edit = row.terms.allowEdit ? ', e to edit' : '';
  for (;;) {
    const said = await person.ask(`approve? y, n, n and the reason${edit}, or nothing to leave it: `);
    const [, word = '', rest = ''] = /^(\S*)\s*(.*)$/s.exec(said?.trim() ?? '') ?? [];
    if (said === undefined || word === '') return undefined;
    if (/^y(es)?$/i.test(word) && rest === '') return await decide(row, options, { confirmed: true });
    if (/^no?$/i.test(word)) {
      const reason = rest || (await person.ask('the reason, which the model is told, or nothing: '))?.trim();
      return await decide(row, options, { confirmed: false, ...(reason ? { reason } : {}) });
    }
    if (row.terms.allowEdit && /^e(dit)?$/i.test(word)) {
      const args = await editedArguments(row, person, rest);
      if (args !== undefined) return await decide(row, options, { confirmed: true, args });
    } else person.tell(`there is no answer ${JSON.stringify(word)} to this`);
  }
}

interface Choice {
  confirmed: boolean;
  args?: Record<string, unknown>;
  reason?: string;
}

async function decide(row: ApprovalRow, { api, approver }: AskOptions, decided: Choice): Promise<Answer> {
  const { requestId } = row;
  const decision = decided.confirmed ? 'approve' : 'reject';
  const { args } = decided;
  const attestation =
    approver && (await attestDecision(approver, row, { decision, ...(args === undefined ? {} : { args }) }));
  return await api.approvals.confirm(
    { requestId },
    { ...decided, shown: row, ...(attestation === undefined ? {} : { attestation }) },
  );
}

/** Undefined where the person would rather not. */
async function editedArguments(
  row: ApprovalRow,
  person: Person,
  typed: string,
): Promise<Record<string, unknown> | undefined> {
  const open = Object.entries(row.args).filter(([name]) => secretInEdit(row, { [name]: '' }) === undefined);
  const isOpen = open.length === Object.keys(row.args).length;
  const wanted = isOpen ? 'all arguments, as JSON: ' : 'all arguments that are not sensitive, as JSON: ';
  const json = typed || (await person.ask(wanted, JSON.stringify(Object.fromEntries(open))));
  if (json === undefined || json.trim() === '') return undefined;
  const args = parsedJson(json);
  if (!isRecord(args)) {
    person.tell('arguments are a JSON object: { "name": value, … }');
    return undefined;
  }
  const secret = secretInEdit(row, args);
  if (secret !== undefined) {
    person.tell(secret);
    return undefined;
  }
  const edited = argumentsToRun({ ...row, editedArgs: args });
  for (const line of changeLines(row.args, edited, row.sensitive)) person.tell(`  ${line}`);
  const isSure = /^y(es)?$/i.test((await person.ask('approve it so? y or n: '))?.trim() ?? '');
  return isSure ? args : undefined;
}

async function inputOf(row: ApprovalRow, person: Person, { api }: AskOptions): Promise<Answer> {
  const { requestId } = row;
  for (;;) {
    const said = await person.ask('answer, or nothing to leave it: ');
    if (said === undefined || said.trim() === '') return undefined;
    const response = responseOf(row, said.trim());
    const problem = responseProblem(row, response);
    if (problem === undefined)
      return await api.approvals.provideInput({ requestId }, { response, shown: row });
    person.tell(`that does not fit: ${problem}`);
  }
}

/** Parses typed text as text where the schema wants text, else as JSON. */
export function responseOf(row: ApprovalRow, said: string): unknown {
  if (responseProblem(row, said) === undefined) return said;
  return parsedJson(said) ?? said;
}

async function secretOf(row: ApprovalRow, person: Person, { api }: AskOptions): Promise<Answer> {
  const { requestId, app, userId, authConfig } = row;
  // Its user consents in a browser.
  if (authConfig?.provider !== undefined) return undefined;
  if (person.secret === undefined || authConfig === undefined) return undefined;
  const [type = 'bearer'] = credentialTypesOf(row);
  const username = type === 'basic' ? (await person.ask('user name, or nothing to leave it: '))?.trim() : '';
  if (username === undefined || (type === 'basic' && username === '')) return undefined;
  const secret = await person.secret(`${SECRETS[type]}, stored encrypted; nothing to leave it`);
  if (secret === undefined || secret === '') return undefined;
  const { credentialRef } = await api.credentials.put({
    app,
    userId,
    credentialKey: authConfig.credentialKey,
    credential: credentialOf(type, secret, username),
  });
  return await api.approvals.provideCredential({ requestId }, { credentialRef, shown: row });
}
