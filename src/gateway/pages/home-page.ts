import { html } from 'hono/html';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { pageRoute, sendPage } from './page-answer.ts';
import { siteOf } from './page-site.ts';
import { pageOf } from './shell.ts';
import type { Html } from './shown-text.ts';

/** `/` for people who open the gateway's address. Programs get the answer of a path that there isn't. */
export function homeRoute(app: GatewayHono, { options, hasInbox }: RouteSetting): void {
  const { access, logger, publicUrl } = options;
  const show = pageRoute(logger, {
    GET: async (context) => {
      const { base } = siteOf(context, publicUrl);
      // Strangers of other machines learn no address of the operators.
      const uiUrl = access.reach === 'loopback' ? options.about().uiUrl : undefined;
      const main = html`<h1>Holdfast runs agents here</h1>
<p class="soft">This is the gateway, by which people and programs reach them.</p>
<ul class="rows">
${hasInbox ? way(`${base}/inbox`, 'Inbox', 'What waits for people: approvals, questions, credentials. And jobs.') : ''}
${way(`${base}/openapi.json`, 'API document', 'The routes for programs, as OpenAPI 3.1.')}
${uiUrl === undefined ? '' : way(uiUrl, 'Temporal UI', 'Each turn as a workflow: its calls, its waits, its history.')}
</ul>`;
      return sendPage(context, pageOf({ title: 'Gateway', main }));
    },
  });
  app.all('/', async (context, next) => {
    const isPerson = ['GET', 'HEAD'].includes(context.req.raw.method);
    return isPerson && context.req.header('accept')?.includes('text/html')
      ? await show(context)
      : await next();
  });
}

function way(href: string, name: string, text: string): Html {
  return html`<li><a class="row" href="${href}">${name}</a><p>${text}</p></li>`;
}
