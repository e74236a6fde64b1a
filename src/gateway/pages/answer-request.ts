import { html } from 'hono/html';
import { credentialTypesOf } from '../../approvals/credential-types.ts';
import type { Decided } from '../../client/approvals/approvals.ts';
import { reasonProblem } from '../../contract/approvals.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { Channel, Decider } from '../approvals/gateway-attester.ts';
import type { RouteSetting } from '../route-setting.ts';
import { answerForm, editForm, previewForm, type Visitor, withdrawForm } from './answer-forms.ts';
import { CHANGED, isAsShown } from './as-shown.ts';
import { readCredential } from './credential-fields.ts';
import { changedNames, filledWith, isEditable, previewedEdit, readEdit } from './edit-fields.ts';
import type { Filled } from './fields.ts';
import { readInput } from './input-fields.ts';
import { outcomeCard, requestCard } from './request-view.ts';
import type { Html } from './shown-text.ts';
import type { Form } from './take-form.ts';

type Receipt = Decided;

/** The result of a form: the answer was given, or another page follows. */
export type Answered = { receipt: Receipt; said: Said } | { status: 200 | 400 | 409; main: Html };

/** A person's answer to a request. */
export type Said = 'approve' | 'reject' | 'withdraw' | 'answer' | 'credential';

/** Answers once: the answer uses up the link. Undefined when the link has been used. */
export type Say = (said: Said, send: () => Promise<Receipt>) => Promise<Receipt | undefined>;

export interface AnswerOptions {
  setting: RouteSetting;
  channel: Channel;
  say: Say;
  /** They may take a vote back. */
  mayWithdraw: boolean;
}

/** A request, and what this person may do about it now. */
export function requestMain(visitor: Visitor, { mayWithdraw }: Pick<AnswerOptions, 'mayWithdraw'>): Html {
  const { row, now } = visitor;
  return html`${outcomeCard(row, now)}${requestCard(row, now)}${row.status === 'pending' ? formFor(visitor, mayWithdraw) : ''}`;
}

/** Does what a form of a request’s page asks for; undefined where somebody else was faster. */
export async function answerRequest(
  form: Form,
  visitor: Visitor,
  options: AnswerOptions,
): Promise<Answered | undefined> {
  const { row } = visitor;
  if (!isAsShown(form, row)) return warned(CHANGED, visitor, options);
  const said = form.get('do');
  switch (said) {
    case 'edit':
    case 'preview':
      return isEditable(row) ? editing(said, form, visitor) : warned(NO_EDIT, visitor, options);
    case 'approve':
    case 'reject':
      return row.kind === 'confirmation'
        ? await decide(said, form, visitor, options)
        : unknown(visitor, options);
    case 'withdraw':
      return await withdraw(visitor, options);
    case 'answer':
      return row.kind === 'input' ? await answer(form, visitor, options) : unknown(visitor, options);
    case 'credential':
      return row.kind === 'credential' ? await provide(form, visitor, options) : unknown(visitor, options);
    default:
      return unknown(visitor, options);
  }
}

const NO_EDIT = 'The arguments of this request may not be edited.';

async function decide(
  said: 'approve' | 'reject',
  form: Form,
  visitor: Visitor,
  options: AnswerOptions,
): Promise<Answered | undefined> {
  const { row } = visitor;
  const reason = (form.get('reason') ?? '').trim();
  const problem = reasonProblem(reason);
  if (problem !== undefined) {
    const filled = new Map([['reason', { value: reason, problem: `${problem}.` }]]);
    return { status: 400, main: html`${requestCard(row, visitor.now)}${answerForm(visitor, filled)}` };
  }
  const edited = form.get('edited');
  const args = edited === undefined || said === 'reject' ? undefined : previewedEdit(row, edited);
  if (edited !== undefined && said === 'approve' && (args === undefined || !isEditable(row))) {
    return warned(NO_EDIT, visitor, options);
  }
  const isEdit = args !== undefined && changedNames(row, args).length > 0;
  const { attester } = options.setting;
  const receipt = await options.say(said, () =>
    attester.confirm(
      deciderOf(visitor, options),
      { requestId: row.requestId },
      {
        confirmed: said === 'approve',
        ...(isEdit ? { args } : {}),
        ...(reason === '' ? {} : { reason }),
      },
      row,
    ),
  );
  return receipt && { receipt, said };
}

async function withdraw(visitor: Visitor, options: AnswerOptions): Promise<Answered | undefined> {
  const { row } = visitor;
  const vote = voteOf(visitor);
  if (!options.mayWithdraw || vote === undefined) return unknown(visitor, options);
  const receipt = await options.say('withdraw', () =>
    options.setting.attester.confirm(
      deciderOf(visitor, options),
      { requestId: row.requestId },
      { confirmed: vote.confirmed, withdraw: true },
      row,
    ),
  );
  return receipt && { receipt, said: 'withdraw' };
}

function editing(said: 'edit' | 'preview', form: Form, visitor: Visitor): Answered {
  const { row } = visitor;
  const reason: Filled = { value: form.get('reason') ?? '' };
  if (said === 'edit') {
    const args = previewedEdit(row, form.get('edited') ?? '');
    const filled = args === undefined ? new Map<string, Filled>() : filledWith(row, args);
    return { status: 200, main: editForm(visitor, filled.set('reason', reason)) };
  }
  const { args, filled } = readEdit(row, form);
  if (args !== undefined) return { status: 200, main: previewForm(visitor, args, reason.value ?? '') };
  return { status: 400, main: editForm(visitor, new Map([...filled, ['reason', reason]])) };
}

async function answer(form: Form, visitor: Visitor, options: AnswerOptions): Promise<Answered | undefined> {
  const { row, now } = visitor;
  const { response, filled } = readInput(row, form);
  if (response === undefined) {
    return { status: 400, main: html`${requestCard(row, now)}${answerForm(visitor, filled)}` };
  }
  const { attester } = options.setting;
  const shown = { session: row.session, argsDigest: row.argsDigest };
  const receipt = await options.say('answer', () =>
    attester.provideInput(deciderOf(visitor, options), row, { response: response.value }, shown),
  );
  return receipt && { receipt, said: 'answer' };
}

async function provide(form: Form, visitor: Visitor, options: AnswerOptions): Promise<Answered | undefined> {
  const { row, now } = visitor;
  const given = readCredential(form, credentialTypesOf(row));
  if (given === undefined) return unknown(visitor, options);
  const { credential } = given;
  if (credential === undefined) {
    return { status: 400, main: html`${requestCard(row, now)}${answerForm(visitor, given.filled)}` };
  }
  const { client } = options.setting.options;
  const { app, userId, requestId, session, argsDigest, authConfig } = row;
  const receipt = await options.say('credential', async () => {
    const { credentialKey = '' } = authConfig ?? {};
    const { credentialRef } = await client.credentials.put({ app, userId, credentialKey, credential });
    return await client.approvals.provideCredential(
      { requestId },
      { credentialRef, shown: { session, argsDigest } },
    );
  });
  return receipt && { receipt, said: 'credential' };
}

function formFor(visitor: Visitor, mayWithdraw: boolean): Html {
  const vote = voteOf(visitor);
  return vote !== undefined && mayWithdraw ? withdrawForm(visitor, vote.confirmed) : answerForm(visitor);
}

function voteOf({ row, person }: Visitor): ApprovalRow['votes'][number] | undefined {
  return row.votes.find(({ by }) => by.verified && by.principal === person);
}

function deciderOf({ person }: Visitor, { channel }: AnswerOptions): Decider {
  return { person, channel };
}

function unknown(visitor: Visitor, options: AnswerOptions): Answered {
  return warned('That can’t be done with this request. Nothing was sent.', visitor, options);
}

function warned(text: string, visitor: Visitor, options: AnswerOptions): Answered {
  return {
    status: 409,
    main: html`<div class="warn" role="alert"><p>${text}</p></div>${requestMain(visitor, options)}`,
  };
}
