import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { HoldfastProcess } from '../cli/holdfast-process.ts';

const work = mkdtempSync(join(tmpdir(), 'holdfast-calendar-'));
const program = fileURLToPath(new URL('../../examples/calendar/demo.ts', import.meta.url));
afterAll(() => rmSync(work, { recursive: true, force: true }));

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
    /\$ npx holdfast credentials connect calendar --app calendar /,
    /is connected as ada@example\.com for the user ada-\w+ of calendar/,
    /desk {2}You have Stand-up on 2026-12-03 09:30, Dentist/,
    /→ add_event\(\{"title":"Lunch with Mira"/,
    /waiting_credential: desk/,
    /calendar\.write/,
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
