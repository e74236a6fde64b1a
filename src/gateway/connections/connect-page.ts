import { html } from 'hono/html';
import type { StoredCredential } from '../../contract/credentials.ts';
import type { WantedTokens } from '../../oauth/consent.ts';
import type { DeviceCode } from '../../oauth/oauth-client.ts';
import type { OAuthProvider } from '../../oauth/oauth-provider.ts';
import type { PageSite } from '../pages/page-site.ts';
import { pageOf } from '../pages/shell.ts';
import { type Html, shown } from '../pages/shown-text.ts';
import { shownTime } from '../pages/shown-time.ts';

/** A link that is good, and what its page shows. */
export interface OpenedLink {
  wanted: WantedTokens;
  provider: OAuthProvider;
  /** Host of the authorization server. */
  server: string;
  /** Scopes that the person is asked for. */
  scopes: readonly string[];
  site: PageSite;
  /** Address of the page. */
  here: string;
  now: number;
}

/** The page before a person goes to the server: for whom it is, and what for. */
export function connectPage({ wanted, server, scopes, here }: OpenedLink): string {
  const main = html`<section class="card"><h1>Connect ${shown(wanted.credentialKey)}</h1>
<p>Agents of <b>${shown(wanted.app)}</b> will act for the user <b>${shown(wanted.userId)}</b> with the account that you choose at <b>${shown(server)}</b>.</p>
${scopeList(scopes)}
<p class="soft">Only continue if you asked for this, or are ${shown(wanted.userId)}. Neither agents nor their models see your password or the tokens.</p>
<div class="actions"><a class="button primary" href="${here}/start" rel="noreferrer"><span>Continue to ${shown(server)}</span></a></div></section>`;
  return pageOf({ title: `Connect ${wanted.credentialKey}`, main, width: 'narrow' });
}

/** The page of a connection that is there. */
export function connectedPage(
  { wanted, server, here, now }: OpenedLink,
  { account, scopes = [], createdAt }: StoredCredential,
): string {
  const main = html`<section class="card"><h1>Connected</h1>
<div class="done" role="status"><p><strong>${shown(server)}</strong> is connected${account === undefined ? '' : html` as <b>${shown(account)}</b>`} for the user <b>${shown(wanted.userId)}</b> of <b>${shown(wanted.app)}</b>, ${shownTime(createdAt, now)}. Calls that waited for it go on.</p></div>
${scopeList(scopes)}
<p class="soft">You can close this page.</p>
<div class="actions"><a class="button quiet" href="${here}/start" rel="noreferrer">Connect again</a></div></section>`;
  return pageOf({ title: 'Connected', main, width: 'narrow' });
}

/** The page that shows the code for another device. */
export function devicePage({ server, here }: OpenedLink, code: DeviceCode): string {
  const { user_code: userCode, verification_uri: address, verification_uri_complete: whole = address } = code;
  const main = html`<section class="card"><h1>Enter this code</h1>
<p>Open <a href="${whole}" rel="noreferrer" target="_blank">${shown(address)}</a> on any device, and enter</p>
<p><strong><code>${shown(userCode)}</code></strong></p>
<p class="soft" role="status">Then consent there. Calls that wait go on some seconds after ${shown(server)} has told this gateway of it.</p>
<div class="actions"><a class="button primary" href="${here}">I have consented</a></div></section>`;
  return pageOf({ title: 'Enter this code', main, width: 'narrow' });
}

function scopeList(scopes: readonly string[]): Html | '' {
  if (scopes.length === 0) return '';
  return html`<p>With these rights:</p><ul>${scopes.map((scope) => html`<li><code>${shown(scope)}</code></li>`)}</ul>`;
}
