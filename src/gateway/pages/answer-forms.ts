import { html, raw } from 'hono/html';
import { type CredentialType, credentialTypesOf } from '../../approvals/credential-types.ts';
import { isSensitive } from '../../approvals/sensitive.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { visibleText } from '../../protocol/visible-text.ts';
import { shownFields } from './as-shown.ts';
import { credentialFields, KIND_NAMES } from './credential-fields.ts';
import { changedNames, editFields, isEditable } from './edit-fields.ts';
import { type Filled, shownField } from './fields.ts';
import { inputFields } from './input-fields.ts';
import { type Html, shown } from './shown-text.ts';
import { argumentTable, nameOf, shownJson } from './shown-value.ts';
import { UNDO_SCRIPT } from './undo-script.ts';

/** Somebody who looks at a request, and what their forms need. */
export interface Visitor {
  row: ApprovalRow;
  /** Name in the person's decision. */
  person: string;
  /** Of the page, from the site’s root: where its forms are sent. */
  action: string;
  /** Proves that a form is of this page. */
  formToken: string;
  /** The address of the page on which an account is connected, for a request that wants its tokens. */
  connect?: string | undefined;
  now: number;
}

type FilledFields = ReadonlyMap<string, Filled>;
const NONE: FilledFields = new Map();

/** Actions on a waiting request: a form for its kind. */
export function answerForm(visitor: Visitor, filled: FilledFields = NONE): Html {
  const { kind } = visitor.row;
  if (kind === 'input') return inputForm(visitor, filled);
  if (kind !== 'credential') return decisionForm(visitor, filled);
  return visitor.connect === undefined
    ? credentialForms(visitor, filled)
    : connectForm(visitor.row, visitor.connect);
}

function connectForm({ authConfig }: ApprovalRow, connect: string): Html {
  return html`<section class="card" aria-labelledby="decide"><h2 id="decide">Your account</h2>
<p class="soft">You consent at <b>${shown(authConfig?.provider ?? '')}</b>. Neither the agent nor its model sees your password or the tokens.</p>
<div class="actions"><a class="button primary" href="${connect}">Connect</a></div></section>`;
}

function decisionForm(visitor: Visitor, filled: FilledFields): Html {
  const { row, action } = visitor;
  return html`<section class="card" aria-labelledby="decide"><h2 id="decide">Your decision</h2>
${formOf(
  visitor,
  html`<div class="actions">${decideBar(
    filled,
    html`<button class="primary" name="do" value="approve" data-says="Approves">Approve</button>
<button class="danger" name="do" value="reject" data-says="Rejects">Reject</button>`,
  )}
${isEditable(row) ? html`<a class="button quiet push" href="${action}?edit">Edit arguments</a>` : ''}</div>`,
)}</section>`;
}

/** A field for each argument that may be changed; sent, it shows the change. */
export function editForm(visitor: Visitor, filled: FilledFields = NONE): Html {
  const { row, action } = visitor;
  const hidden = Object.keys(row.args).filter((name) => isSensitive(row.sensitive, name));
  return html`<section class="card"><h1>Edit the arguments of <code>${shown(row.tool)}</code></h1>
<p class="soft">Nothing runs yet: you see the change before you approve it.</p>
${formOf(
  visitor,
  html`${editFields(row).map(({ field, before }) => shownField(field, filled.get(field.id) ?? { value: before }))}
${hidden.length === 0 ? '' : html`<p class="soft">Sensitive arguments stay as they are: ${hidden.map((name, index) => html`${index === 0 ? '' : ', '}${nameOf(name)}`)}</p>`}
${reasonField(filled)}
<div class="actions"><button class="primary" name="do" value="preview">Preview the change</button>
<a class="button quiet" href="${action}">Cancel</a></div>`,
)}</section>`;
}

/** Before and after, and the one button that sends it. */
export function previewForm(visitor: Visitor, args: Record<string, unknown>, reason: string): Html {
  const { row, action } = visitor;
  const names = changedNames(row, args).sort();
  const same = Object.keys(args).length - names.length;
  if (names.length === 0) {
    return html`<section class="card"><h1>Nothing is changed</h1><p>The arguments are those that were asked about.</p>
<div class="actions"><a class="button quiet" href="${action}?edit">Back to editing</a><a class="button quiet" href="${action}">Decide as it is</a></div></section>`;
  }
  return html`<section class="card"><span class="chip pending">Not sent yet</span>
<h1>Run <code>${shown(row.tool)}</code> with this change?</h1>
<table class="args diff" aria-label="Arguments that change">
<thead><tr><th scope="col">Argument</th><th scope="col">Asked about</th><th scope="col">Will run</th></tr></thead>
<tbody>${names.map(
    (name) => html`<tr><th scope="row">${nameOf(name)}</th>
<td class="was" data-label="Asked about">${shownJson(row.args[name], name)}</td>
<td class="now" data-label="Will run">${shownJson(args[name], name)}</td></tr>`,
  )}</tbody></table>
${same === 0 ? '' : html`<p class="same">${same === 1 ? 'One other argument stays' : `${same} other arguments stay`} as asked about.</p>`}
${formOf(
  visitor,
  html`<input type="hidden" name="edited" value="${visibleText(JSON.stringify(args))}">
<div class="actions">${decideBar(
    new Map([['reason', { value: reason }]]),
    html`<button class="primary" name="do" value="approve" data-says="Approves">Approve with this change</button>
<button class="quiet" name="do" value="edit">Back to editing</button>`,
  )}</div>`,
)}</section>
<details class="card"><summary>All arguments that will run</summary>${argumentTable(
    { ...row.args, ...args },
    row.sensitive,
    'All arguments that will run',
  )}</details>`;
}

function inputForm(visitor: Visitor, filled: FilledFields): Html {
  const fields = inputFields(visitor.row);
  return html`<section class="card" aria-labelledby="decide"><h2 id="decide">Your answer</h2>
${formOf(
  visitor,
  html`${fields.map(({ field }) => shownField(field, filled.get(field.id) ?? {}))}
<div class="actions"><button class="primary" name="do" value="answer">Send the answer</button></div>`,
)}</section>`;
}

function credentialForms(visitor: Visitor, filled: FilledFields): Html {
  const kinds = credentialTypesOf(visitor.row);
  const [only] = kinds;
  const chosen = filled.get('kind')?.value;
  const form = (kind: CredentialType) =>
    formOf(
      visitor,
      html`<input type="hidden" name="kind" value="${kind}">
${credentialFields(kind).map((field) => shownField(field, filled.get(field.id) ?? {}))}
<div class="actions"><button class="primary" name="do" value="credential">Store and hand over</button></div>`,
    );
  const isSure = kinds.length === 1 && only !== undefined;
  return html`<section class="card" aria-labelledby="decide"><h2 id="decide">The credential</h2>
<p class="soft">It is encrypted at once. Neither the agent nor its model sees it, and no page shows it again.</p>
${isSure ? form(only) : kinds.map((kind) => html`<details name="kind"${chosen === kind ? html` open` : ''}><summary>Give ${KIND_NAMES[kind]}</summary>${form(kind)}</details>`)}</section>`;
}

/** Only for a vote of their own that counts by now. */
export function withdrawForm(visitor: Visitor, confirmed: boolean): Html {
  return html`<section class="card" aria-labelledby="decide"><h2 id="decide">Your vote</h2>
<p>You have ${confirmed ? 'approved' : 'rejected'} this. It takes more people: until then you may take it back.</p>
${formOf(visitor, html`<div class="actions"><button class="quiet" name="do" value="withdraw">Take my vote back</button></div>`)}</section>`;
}

function formOf({ action, formToken, row }: Visitor, fields: Html): Html {
  return html`<form method="post" action="${action}" accept-charset="utf-8" autocomplete="off">
<input type="hidden" name="token" value="${formToken}">${shownFields(row)}
${fields}</form>`;
}

/** Reason and buttons, which stay in view on a phone, and a moment to take a decision back. */
function decideBar(filled: FilledFields, buttons: Html): Html {
  return html`<div class="decide">${reasonField(filled)}${buttons}
<span class="told" id="told" role="status"></span><button type="button" class="quiet undo" aria-describedby="told" hidden>Undo <span aria-hidden="true"></span></button></div>
<script>${raw(UNDO_SCRIPT)}</script>`;
}

function reasonField(filled: FilledFields): Html {
  const { value = '', problem } = filled.get('reason') ?? {};
  return html`<div class="field"><label for="reason">Reason for your decision <small>optional</small></label>
<p class="hint" id="reason-hint">Kept with the decision. The agent reads it when you reject.</p>
<textarea id="reason" name="reason" rows="2" aria-describedby="reason-hint${problem === undefined ? '' : ' reason-error'}"${problem === undefined ? '' : html` aria-invalid="true"`}>
${value}</textarea>${problem === undefined ? '' : html`<p class="error" id="reason-error">${problem}</p>`}</div>`;
}
