import { html } from 'hono/html';
import type { GatewayAbout } from '../../contract/about.ts';
import type { JobRow } from '../../contract/jobs.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { type TemporalUi, workflowPage, workflowsPage } from '../../protocol/temporal-ui.ts';
import type { Html } from './shown-text.ts';

/**
 * A link to the newest run of a request's workflow while the request waits; afterwards to all of its runs, since another turn of the
 * session may be the newest. Empty where operators haven’t said which UI there is.
 */
export function linkOfRequest(about: GatewayAbout, { status, workflowId }: ApprovalRow): Html | '' {
  return linkTo(about, (ui) =>
    status === 'pending' ? workflowPage(ui, workflowId) : workflowsPage(ui, workflowId),
  );
}

/** A link to the run that began the job; empty without a known run, or without a UI. */
export function linkOfJob(about: GatewayAbout, { address }: JobRow): Html | '' {
  if (address === undefined) return '';
  return linkTo(about, (ui) => workflowPage(ui, address.workflowId, address.runId));
}

function linkTo({ uiUrl, namespace }: GatewayAbout, pageIn: (ui: TemporalUi) => string): Html | '' {
  if (uiUrl === undefined) return '';
  return html`<a class="ui" href="${pageIn({ uiUrl, namespace })}" rel="noopener noreferrer">Temporal</a>`;
}
