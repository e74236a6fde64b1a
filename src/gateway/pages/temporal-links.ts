import { html } from 'hono/html';
import type { GatewayAbout } from '../../contract/about.ts';
import type { JobRow } from '../../contract/jobs.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { type TemporalUi, workflowPage, workflowsPage } from '../../protocol/temporal-ui.ts';
import type { Html } from './shown-text.ts';
import type { SignedIn } from './sign-in.ts';

/**
 * A link to the newest run of a request's workflow while the request waits; afterwards to all of its runs, since another turn of the
 * session may be the newest. Empty where operators haven’t said which UI there is.
 */
export function linkOfRequest(frame: LinkFrame, row: ApprovalRow): Html | '' {
  const { status, workflowId } = row;
  return linkTo(frame, row, (ui) =>
    status === 'pending' ? workflowPage(ui, workflowId) : workflowsPage(ui, workflowId),
  );
}

/** A link to the run that began the job; empty without a known run, or without a UI. */
export function linkOfJob(frame: LinkFrame, row: JobRow): Html | '' {
  const { address } = row;
  if (address === undefined) return '';
  return linkTo(frame, row, (ui) => workflowPage(ui, address.workflowId, address.runId));
}

type LinkFrame = { about: GatewayAbout; who: SignedIn };

/** For operators: who approves has no way into Temporal. */
function linkTo(
  { about: { uiUrl, namespace }, who }: LinkFrame,
  { app, userId }: Pick<JobRow, 'app' | 'userId'>,
  pageIn: (ui: TemporalUi) => string,
): Html | '' {
  const isOperator = who.principal.may({ permission: 'operate', app, userId }) === 'allowed';
  if (uiUrl === undefined || !isOperator) return '';
  return html`<a class="ui" href="${pageIn({ uiUrl, namespace })}" rel="noopener noreferrer">Temporal</a>`;
}
