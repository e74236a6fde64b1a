import { html } from 'hono/html';
import type { GatewayAbout } from '../../contract/about.ts';
import type { JobRow } from '../../contract/jobs.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { Html } from './shown-text.ts';

/**
 * To the run that waits, which is the newest of its id; once nothing waits, to all runs of it: another turn of the session is one.
 * Empty where operators haven’t said which UI there is.
 */
export function linkOfRequest(about: GatewayAbout, { status, workflowId }: ApprovalRow): Html | '' {
  const query = `?query=${encodeURIComponent(`WorkflowId=${JSON.stringify(workflowId)}`)}`;
  return linkTo(about, status === 'pending' ? `/${encodeURIComponent(workflowId)}` : query);
}

/** To the run that began it; empty where none is known, or no UI. */
export function linkOfJob(about: GatewayAbout, { address }: JobRow): Html | '' {
  if (address === undefined) return '';
  const { workflowId, runId } = address;
  return linkTo(about, `/${encodeURIComponent(workflowId)}/${encodeURIComponent(runId)}/history`);
}

function linkTo({ uiUrl, namespace }: GatewayAbout, path: string): Html | '' {
  if (uiUrl === undefined) return '';
  const url = `${uiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows${path}`;
  return html`<a class="ui" href="${url}" rel="noopener noreferrer">Temporal</a>`;
}
