import { afterAll, beforeAll, expect, test } from 'vitest';
import { serveGateway } from '../../src/gateway/index.ts';
import { readPage, sendForm } from './browser-form.ts';
import { openPageDesk, type PageDesk } from './page-desk.ts';

let desk: PageDesk;
beforeAll(async () => {
  desk = await openPageDesk();
});
afterAll(() => desk.close());

test('what pages refuse is noted with who, what for and why, and without tokens and keys [inbox.denials]', async () => {
  const request = await desk.asked('refund_order', { order: 'A-1', cents: 700 });
  const served = await serveGateway({ gateway: desk.options });
  const at = (path: string) => `${served.url}${path}`;
  const path = `/inbox/requests/${request.requestId}`;
  const link = desk.link(request, 'mira').replace(desk.served.url, served.url);
  const stranger = desk.link(request, 'eve').replace(desk.served.url, served.url);
  const given = {
    reader: await desk.key('reader', [{ app: 'shop', roles: ['read'] }]),
    banker: await desk.key('banker', [{ app: 'bank', roles: ['approve'] }]),
    nobody: await desk.key('nobody', [{ app: 'shop', roles: ['approve'] }]),
  };
  const wrong = `hf_0000000000000000_${'A'.repeat(43)}`;
  const signIn = async (key: string) =>
    await sendForm(at('/inbox/sign-in'), await readPage(at('/inbox/sign-in')), { key });
  const read = async (cookie: string, page = '/inbox') => await readPage(at(page), { headers: { cookie } });
  const statuses: number[] = [];
  try {
    statuses.push((await signIn(wrong)).status);
    const reader = await signIn(given.reader.text);
    const form = { cookie: reader.cookie, hidden: (await read(reader.cookie)).hidden };
    statuses.push((await sendForm(at(path), form, { do: 'approve' })).status);
    statuses.push((await sendForm(at(path), { ...form, hidden: { token: 'x' } }, { do: 'approve' })).status);
    const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    const page = await readPage(link);
    statuses.push((await sendForm(link, { ...page, hidden: {} }, { do: 'approve' })).status);
    statuses.push((await sendForm(link, page, { do: 'approve' }, { 'sec-fetch-site': 'same-site' })).status);
    statuses.push((await sendForm(at(path), form, { do: 'approve' }, evil)).status);
    statuses.push((await sendForm(stranger, await readPage(stranger), { do: 'approve' })).status);
    const banker = await signIn(given.banker.text);
    statuses.push((await read(banker.cookie, path)).status);
    const nobody = await signIn(given.nobody.text);
    const shown = { ...(await read(nobody.cookie, path)), cookie: nobody.cookie };
    statuses.push((await sendForm(at(path), shown, { do: 'approve' })).status);
    expect(statuses).toEqual([401, 403, 403, 403, 403, 403, 409, 404, 409]);
  } finally {
    await served.close();
  }
  const denials = await desk.environment.store.keys.listDenials({ limit: 1_000 });
  const told = denials.map(({ firstAt: _first, lastAt: _last, ...kind }) => kind);
  const address = '127.0.0.1';
  const [onInbox, onLink] = ['POST /inbox/requests/:requestId', 'POST /a/:token'];
  const approve = { permission: 'approve', app: 'shop' };
  for (const each of [
    { reason: 'unauthenticated', route: 'POST /inbox/sign-in', address, count: 1 },
    { ...approve, reason: 'forbidden', route: onInbox, who: 'reader', count: 1 },
    { reason: 'forbidden', route: onInbox, who: 'reader', count: 1 },
    { ...approve, reason: 'forbidden', route: onLink, who: 'mira', address },
    { reason: 'forbidden', route: onInbox, address, count: 1 },
    { ...approve, reason: 'refused', route: onLink, who: 'eve', count: 1 },
    { reason: 'hidden', route: 'GET /inbox/requests/:requestId', permission: 'read or approve', app: 'shop' },
    { ...approve, reason: 'refused', route: onInbox, who: 'nobody', count: 1 },
  ]) {
    expect(told).toContainEqual(expect.objectContaining(each));
  }
  const text = JSON.stringify(denials);
  for (const { text: key } of Object.values(given)) expect(text).not.toContain(key.slice(-20));
  for (const each of [link, stranger]) expect(text).not.toContain(each.slice(-20));
  expect(text).not.toContain('A'.repeat(20));
});
