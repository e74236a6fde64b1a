import { html } from 'hono/html';
import type { ApprovalRow } from '../../contract/requests.ts';
import { digestOf } from '../../protocol/canonical-json.ts';
import type { Html } from './shown-text.ts';
import type { Form } from './take-form.ts';

/** Told whose form is about what isn't asked any more. */
export const CHANGED =
  'This page is out of date: the request has changed since it was shown. Look at it as it is now.';

/** Says in a form which request its page has shown, and with what: the answer is to that and to nothing else. */
export function shownFields(row: ApprovalRow): Html {
  return html`${Object.entries(marksOf(row)).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}`;
}

/** Whether a request is still the one that the page of a form has shown. */
export function isAsShown(form: Form, row: ApprovalRow): boolean {
  return Object.entries(marksOf(row)).every(([name, value]) => form.get(name) === value);
}

/** A session that was deleted and made again asks by the same ids, perhaps with the same arguments, and something else. */
function marksOf({ session, argsDigest, ...row }: ApprovalRow): Record<string, string> {
  const { kind, tool, agent, hint, payload, responseSchema, authConfig, since } = row;
  const asked = JSON.stringify([kind, tool, agent, hint, payload, responseSchema, authConfig, since]);
  return { session, digest: argsDigest, asked: digestOf(asked) };
}
