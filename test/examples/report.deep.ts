import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { ReportService } from '../../examples/report/report-service.ts';
import { salesOf } from '../../examples/report/sales.ts';
import { HoldfastProcess } from '../cli/holdfast-process.ts';

const work = mkdtempSync(join(tmpdir(), 'holdfast-report-'));
const program = fileURLToPath(new URL('../../examples/report/demo.ts', import.meta.url));
const closings: (() => void)[] = [];
afterEach(() => {
  for (const close of closings.splice(0)) close();
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

interface Heard {
  path: string;
  token: string | undefined;
  body: Record<string, unknown>;
}

/** Whom the service calls back; the first calls are answered with `answers`. */
async function caller(...answers: number[]): Promise<{ url: string; heard: Heard[] }> {
  const heard: Heard[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as Heard['body'];
    heard.push({ path: request.url ?? '', token: request.headers.authorization, body });
    response.writeHead(answers.shift() ?? 200).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closings.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/jobs/job-1`, heard };
}

async function service(pace: number): Promise<{ report: string; said: string[] }> {
  const said: string[] = [];
  const served = new ReportService({ pace, log: (line) => said.push(line) });
  closings.push(() => served.close());
  return { report: `${await served.open()}/reports/job-1`, said };
}

async function order(report: string, callbackUrl: string, month = '2026-02'): Promise<Response> {
  const body = JSON.stringify({ month, callbackUrl, token: 'for-job-1' });
  return await fetch(report, { method: 'PUT', body });
}

describe('the report service', () => {
  test('counts a month once, tells how far it is, and calls back with the token, again where nobody answers [example.report]', async () => {
    const { url, heard } = await caller(503);
    const { report, said } = await service(1);
    expect((await order(report, url)).status).toBe(202);
    expect((await order(report, url)).status).toBe(200);
    await expect.poll(() => heard.filter(({ path }) => path.endsWith('/complete'))).toHaveLength(1);
    expect(new Set(heard.map(({ token }) => token))).toEqual(new Set(['Bearer for-job-1']));
    const progress = heard.filter(({ path }) => path.endsWith('/progress')).map(({ body }) => body.value);
    expect(progress).toEqual([5 / 28, 5 / 28, 10 / 28, 15 / 28, 20 / 28, 25 / 28]);
    const days = salesOf('2026-02');
    expect(heard.at(-1)?.body).toMatchObject({
      result: {
        month: '2026-02',
        orders: days.reduce((sum, { orders }) => sum + orders, 0),
        cents: days.reduce((sum, { cents }) => sum + cents, 0),
        url: report,
      },
    });
    expect((await (await fetch(report)).text()).trim().split('\n')).toHaveLength(1 + 28);
    expect(said).toEqual(['R-0001 of 2026-02 is ordered', 'R-0001 is done']);
  });

  test('stops where nobody wants it any more, and calls nobody back [example.report]', async () => {
    const { url, heard } = await caller();
    const { report, said } = await service(3_600_000);
    await order(report, url);
    const stopped = await fetch(report, { method: 'DELETE' });
    expect(await stopped.json()).toMatchObject({ state: 'stopped' });
    expect((await fetch(report)).status).toBe(404);
    expect(said.at(-1)).toBe('R-0001 is stopped after 0 days');
    expect(heard).toEqual([]);
    expect((await order(report.replace('job-1', 'job-2'), url, 'June')).status).toBe(400);
  });
});

test('one command orders, talks on, delivers what comes back, and has another one cancelled [example.report] [job.detach] [job.callback] [job.cancel]', async () => {
  const folder = join(work, '.holdfast');
  const demo = new HoldfastProcess(['--folder', folder, '--stop-server'], { program, cwd: work });
  const { code, stdout, stderr } = await demo.finished();
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const inOrder = [
    /R-0001 of 2026-06 is ordered/,
    /order_report 1\.0 goes on as a job, whose result comes later {2}job-\S+/,
    /← order_report \(goes on\) \{"status":"ordered","report":"R-0001"/,
    /analyst {2}Without 19 % that is €200\.00\./,
    /running {2}detached .* order_report {2}\d+ % {2}2026-06-\d\d is counted/,
    /progress +\d+ % {2}2026-06-\d\d is counted/,
    /service │ R-0001 is done/,
    /← order_report \{"report":"R-0001","month":"2026-06","orders":\d+/,
    /analyst {2}Report R-0001 of 2026-06 is there: \d+ orders/,
    /ended .*, by a callback/,
    /the session was told by event \d+/,
    /2026-06-01,\d+,\d+/,
    /\$ npx holdfast jobs cancel job-\S+ --reason 'July is not over yet'/,
    /job-\S+ cancelled/,
    /analyst {2}There is no report: cancelled: July is not over yet\./,
  ];
  let rest = stdout;
  for (const expected of inOrder) {
    expect(rest).toMatch(expected);
    rest = rest.slice(rest.search(expected));
  }
  expect(stdout.match(/service │ R-0002 is stopped after \d+ days/g)).toHaveLength(1);
  expect(stdout).not.toContain('R-0002 is done');
});
