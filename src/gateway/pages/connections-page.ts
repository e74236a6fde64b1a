import { html } from 'hono/html';
import { credentialKeysOf } from '../../credentials/credential-keys.ts';
import { connectLink } from '../../oauth/consent.ts';
import { REVOKED } from '../../oauth/tokens.ts';
import type { GatewayContext } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { mayRead } from './inbox-lists.ts';
import { type InboxFrame, inboxPage } from './inbox-pages.ts';
import { sendPage } from './page-answer.ts';
import { refuse } from './page-denial.ts';
import { shown } from './shown-text.ts';
import { shownTime } from './shown-time.ts';

/** Connections that the page shows, at most. */
const MOST_SHOWN = 200;

/** The accounts that are connected for users whom the person may see: their own, where they act as one user only. */
export async function showConnections(
  context: GatewayContext,
  frame: InboxFrame,
  { options }: RouteSetting,
): Promise<Response> {
  const { who, site, about, now } = frame;
  const { principal, formToken } = who;
  const { userId } = principal;
  const keys = options.credentialKeys && credentialKeysOf(options.credentialKeys);
  const lists = (principal.apps ?? about.apps).map((app) =>
    options.client.credentials.list(userId === undefined ? { app } : { app, userId }),
  );
  const stored = (await Promise.all(lists))
    .flat()
    .filter((row) => ['oauth2', REVOKED].includes(row.authType) && mayRead(principal, row));
  const action = `${site.base}/inbox/connections`;
  const rows = stored.slice(0, MOST_SHOWN).map((row) => {
    const { app, userId, credentialKey, credentialRef, account, scopes = [], createdAt } = row;
    const again = keys && connectLink(keys, { app, userId, credentialKey, needs: scopes }, now).path;
    const mayEnd = principal.may({ permission: 'operate', app, userId }) === 'allowed';
    const hidden = Object.entries({ token: formToken, app, user: userId, credential: credentialRef });
    return html`<li><strong><code>${shown(credentialKey)}</code>${account === undefined ? '' : html` as ${shown(account)}`}</strong>
<p>${shown(app)} · ${shown(userId)}${scopes.map((scope) => html` · <code>${shown(scope)}</code>`)}</p>
<div class="aside"><span>${row.authType === REVOKED ? 'is to be connected again' : html`connected ${shownTime(createdAt, now)}`}</span>${
      mayEnd
        ? html`<form method="post" action="${action}">${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="danger">Disconnect</button></form>${again === undefined ? '' : html`<a class="button quiet" href="${site.base}${again}">Connect again</a>`}`
        : ''
    }</div></li>`;
  });
  const nothing = html`<div class="card empty"><strong>Nothing is connected</strong>Accounts that users connect for tools appear here.</div>`;
  const ended = context.req.query('ended');
  const note = html`<div class="${ended === 'revoked' ? 'done' : 'warn'}" role="status"><p>Disconnected. ${ended === 'revoked' ? 'The server has taken the tokens back.' : 'The server has not taken the tokens back: end them there, too.'}</p></div>`;
  const main = html`<div class="bar"><h1>Connections</h1></div>${ended === undefined ? '' : note}
${rows.length === 0 ? nothing : html`<ul class="rows">${rows}</ul>`}`;
  return sendPage(context, inboxPage(frame, { tab: 'connections', title: 'Connections', main, wide: true }));
}

/** Gives an account up, at its server too. */
export async function disconnect(
  context: GatewayContext,
  { who, site }: InboxFrame,
  { options }: RouteSetting,
  form: ReadonlyMap<string, string>,
): Promise<Response> {
  const [app = '', userId = '', credentialRef = ''] = ['app', 'user', 'credential'].map((name) =>
    form.get(name),
  );
  if (who.principal.may({ permission: 'operate', app, userId }) !== 'allowed')
    refuse(context, { permission: 'operate', app });
  const { revoked } = await options.client.credentials.remove({ app, userId, credentialRef });
  return context.redirect(`${site.base}/inbox/connections?ended=${revoked ? 'revoked' : 'here'}`, 303);
}
