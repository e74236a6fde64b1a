import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { AuthorizationServer } from '../../examples/calendar/authorization-server.ts';
import { CalendarService } from '../../examples/calendar/calendar-service.ts';
import { HoldfastProcess } from '../cli/holdfast-process.ts';
import { Browser } from '../setup/authorization-server.ts';

const work = mkdtempSync(join(tmpdir(), 'holdfast-calendar-'));
const program = fileURLToPath(new URL('../../examples/calendar/demo.ts', import.meta.url));
const closings: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0)) await close();
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe('the services', () => {
  const app = { id: 'desk', secret: 'of-the-desk' };
  const wayBack = 'http://127.0.0.1:9999/oauth/callback';

  async function open() {
    const client = { id: 'calendar', secret: 'of-the-calendar' };
    const server = new AuthorizationServer({ app, service: client, tokenSeconds: 60 });
    closings.push(() => server.close());
    const issuer = await server.open();
    const calendar = new CalendarService({ issuer, client });
    closings.push(() => calendar.close());
    return { server, issuer, url: `${await calendar.open()}/events` };
  }

  /** The tokens of somebody who has consented to scopes. */
  async function consented(issuer: string, scope: string): Promise<Record<string, string>> {
    const verifier = randomBytes(32).toString('base64url');
    const asked = new URLSearchParams({
      ...{ client_id: app.id, response_type: 'code', redirect_uri: wayBack, prompt: 'consent' },
      ...{ scope: `openid offline_access ${scope}`, code_challenge_method: 'S256' },
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    });
    const back = await new Browser().consent(`${issuer}/auth?${asked}`, wayBack);
    const code = new URL(back).searchParams.get('code') ?? '';
    const grant = { grant_type: 'authorization_code', redirect_uri: wayBack, code_verifier: verifier };
    return await tokens(issuer, { ...grant, code });
  }

  async function tokens(issuer: string, body: Record<string, string>): Promise<Record<string, string>> {
    const authorization = `Basic ${btoa(`${app.id}:${app.secret}`)}`;
    const answer = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams(body),
    });
    return (await answer.json()) as Record<string, string>;
  }

  function asking(token: string | undefined, event?: object): RequestInit {
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'call-1' };
    return { headers, ...(event && { method: 'POST', body: JSON.stringify(event) }) };
  }

  test('open a calendar to tokens with its scope, and add once under a key [example.calendar]', async () => {
    const { issuer, url } = await open();
    expect((await fetch(url)).status).toBe(401);
    expect((await fetch(url, asking('made-up'))).status).toBe(401);
    const reader = await consented(issuer, 'calendar.read');
    expect((await fetch(url, asking(reader.access_token))).status).toBe(200);
    const event = { title: 'Lunch', start: '2026-12-04 12:00' };
    expect((await fetch(url, asking(reader.access_token, event))).status).toBe(403);
    const { access_token: token } = await consented(issuer, 'calendar.read calendar.write');
    for (const _attempt of [1, 2]) expect((await fetch(url, asking(token, event))).status).toBe(201);
    const { events } = (await (await fetch(url, asking(token))).json()) as { events: object[] };
    expect(events).toHaveLength(3);
    expect(events[1]).toEqual(event);
  });

  test('refuse tokens that were ended, and give others for a refresh token, once [example.calendar]', async () => {
    const { issuer, server, url } = await open();
    const { access_token: first, refresh_token: refresh = '' } = await consented(issuer, 'calendar.read');
    expect(await server.forget()).toBe(1);
    expect((await fetch(url, asking(first))).status).toBe(401);
    const grant = { grant_type: 'refresh_token', refresh_token: refresh };
    const { access_token: second } = await tokens(issuer, grant);
    expect((await fetch(url, asking(second))).status).toBe(200);
    expect(await tokens(issuer, grant)).toMatchObject({ error: 'invalid_grant' });
  });

  test('ask for PKCE [example.calendar]', async () => {
    const { issuer } = await open();
    const asked = new URLSearchParams({
      ...{ client_id: app.id, response_type: 'code', redirect_uri: wayBack, scope: 'openid' },
    });
    const back = await new Browser().consent(`${issuer}/auth?${asked}`, wayBack);
    expect(new URL(back).searchParams.get('error')).toBe('invalid_request');
  });
});

test('one command waits for a consent twice, goes on each time, refreshes tokens and gives them up [example.calendar] [oauth.consent] [oauth.refused]', async () => {
  const secret = 'secret-of-the-desk-7f3a';
  const demo = new HoldfastProcess(['--folder', join(work, '.holdfast'), '--stop-server'], {
    program,
    cwd: work,
    env: { CALENDAR_CLIENT_SECRET: secret },
  });
  const { code, stdout, stderr } = await demo.finished();
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const inOrder = [
    /GET \/events is refused: 401/,
    /\? asks for a credential: calendar/,
    /waiting_credential: desk/,
    /\$ npx holdfast credentials connect calendar .*--scope calendar\.read /,
    /is connected as ada@example\.com for the user ada-\w+ of calendar/,
    /desk {2}You have Stand-up on 2026-12-03 09:30, Dentist/,
    /→ add_event\(\{"title":"Lunch with Mira"/,
    /waiting_credential: desk/,
    /--scope calendar\.read --scope calendar\.write/,
    /desk {2}Lunch with Mira is in your calendar/,
    /oauth2 .* ada@example\.com +openid offline_access calendar\.read calendar\.write/,
    /tokens of ada@example\.com are refreshed/,
    /access tokens are good no longer/,
    /POST \/events is refused: 401/,
    /tokens of ada@example\.com are refreshed/,
    /desk {2}Sauna is in your calendar/,
    /"revoked":true/,
    /services │ 2026-12-04 12:00 {2}Lunch with Mira/,
    /services │ 2026-12-04 18:00 {2}Sauna/,
  ];
  let rest = stdout;
  for (const expected of inOrder) {
    expect(rest).toMatch(expected);
    rest = rest.slice(rest.search(expected) + 1);
  }
  expect(stdout.match(/asks for a credential/g)).toHaveLength(2);
  expect(stdout.match(/tokens are given up: the consent has ended/g)).toHaveLength(1);
  expect(stdout + stderr).not.toMatch(/oidc-provider (NOTICE|WARNING)/);
  expect(stdout + stderr).not.toContain(secret);
});
