import { createSocket, type Socket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { guardedFetch } from '../../src/net/guarded-fetch.ts';
import { isNeverAllowed, isPublicAddress } from '../../src/net/public-address.ts';
import { inTier } from '../setup/tier.ts';

/** Of each request that came through. */
const heard: string[] = [];
const servers: Server[] = [];

async function serve(listener: RequestListener, host = '127.0.0.1'): Promise<string> {
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url}`);
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

afterEach(() => void heard.splice(0));
afterAll(() => {
  for (const server of servers) server.close();
});

const HOSTILE: readonly string[] = [
  'http://example.com/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'data:text/plain,x',
  'javascript:alert(1)',
  'gopher://127.0.0.1:70/',
  'unix:/run/docker.sock',
  '//example.com/x',
  'example.com',
  '',
  'https://',
  'https:///x',
  'https://127.0.0.1/',
  'https://127.0.0.1:443/',
  'https://127.1/',
  'https://127.0.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.0.0.1/',
  'https://0x7f.1/',
  'https://017700000001/',
  'https://0177.0.0.1/',
  'https://0177.0x0.0.1/',
  'https://127.0.0.1./',
  'https://①②⑦.⓪.⓪.①/',
  'https://127。0。0。1/',
  'https://%31%32%37.0.0.1/',
  'https://127.255.255.254/',
  'https://0/',
  'https://0.0.0.0/',
  'https://0.1.2.3/',
  'https://10.0.0.1/',
  'https://10.255.255.255/',
  'https://172.16.0.1/',
  'https://172.31.255.255/',
  'https://192.168.1.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://0xa9fea9fe/',
  'https://2852039166/',
  'https://100.64.0.1/',
  'https://100.127.255.254/',
  'https://192.0.0.1/',
  'https://192.0.2.1/',
  'https://198.18.0.1/',
  'https://198.51.100.7/',
  'https://203.0.113.9/',
  'https://224.0.0.1/',
  'https://239.255.255.250/',
  'https://240.0.0.1/',
  'https://255.255.255.255/',
  'https://[::1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[::]/',
  'https://[::127.0.0.1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[::ffff:8.8.8.8]/',
  'https://[::ffff:0:127.0.0.1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[64:ff9b::10.0.0.1]/',
  'https://[64:ff9b:1::1]/',
  'https://[2002:7f00:1::]/',
  'https://[2002:a00:1::1]/',
  'https://[2001:0:53aa:64c::1]/',
  'https://[2001:db8::1]/',
  'https://[2001:10::1]/',
  'https://[100::1]/',
  'https://[fc00::1]/',
  'https://[fd00:ec2::254]/',
  'https://[fe80::1]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
  'https://[3fff::1]/',
  'https://[5f00::1]/',
  'https://localhost/',
  'https://LOCALHOST/',
  'https://localhost./',
  'https://a.localhost/',
  'https://metadata/',
  'https://metadata.google.internal/',
  'https://printer.local/',
  'https://nas.home.arpa/',
  'https://intranet/',
  'https://example.com:8443/',
  'https://example.com:22/',
  'https://example.com:80/',
  'https://ada@example.com/',
  'https://ada:secret@example.com/',
  'https://example.com@127.0.0.1/',
  'https://127.0.0.1#@example.com/',
  'https://127.0.0.1\\@example.com/',
  'https://127.0.0.1%2f@example.com/',
];

/** Ranges of IPv4 that are none of the internet: private, loopback, shared, link-local, for benchmarks and documents, and more. */
const INNER: readonly string[][] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map((range) => [range]);

/** An address of a range: its prefix, and else these bytes. */
function within(range: string, bytes: readonly number[]): number[] {
  const [network, length] = ipaddr.IPv4.parseCIDR(range);
  return network.toByteArray().map((byte, index) => {
    const kept = Math.min(Math.max(length - 8 * index, 0), 8);
    const mask = (0xff << (8 - kept)) & 0xff;
    return (byte & mask) | ((bytes[index] ?? 0) & ~mask & 0xff);
  });
}

const zeros = (count: number) => Array.from({ length: count }, () => 0);

/** Forms of IPv6 whose addresses lead to one of IPv4, and a global prefix of eight bytes where they may have any. */
const FORMS: Record<string, (inner: readonly number[], prefix: readonly number[]) => number[]> = {
  compatible: (inner) => [...zeros(12), ...inner],
  mapped: (inner) => [...zeros(10), 0xff, 0xff, ...inner],
  translated: (inner) => [...zeros(8), 0xff, 0xff, 0, 0, ...inner],
  nat64: (inner) => [0, 0x64, 0xff, 0x9b, ...zeros(8), ...inner],
  'local nat64': (inner) => [0, 0x64, 0xff, 0x9b, 0, 1, ...zeros(6), ...inner],
  '6to4': (inner, prefix) => [0x20, 0x02, ...inner, ...prefix, 0, 1],
  teredo: (inner, prefix) => [0x20, 0x01, 0, 0, ...prefix, ...inner.map((byte) => byte ^ 0xff)],
  isatap: (inner, prefix) => [...prefix, 0, 0, 0x5e, 0xfe, ...inner],
  'isatap of a group': (inner, prefix) => [...prefix, 1, 0, 0x5e, 0xfe, ...inner],
  'isatap, unique': (inner, prefix) => [...prefix, 2, 0, 0x5e, 0xfe, ...inner],
  'isatap, unique, of a group': (inner, prefix) => [...prefix, 3, 0, 0x5e, 0xfe, ...inner],
};

describe('requests to addresses of others [webhook.ssrf]', () => {
  test.each(HOSTILE)('refuses %s', async (url) => {
    const resolve = () => Promise.reject(new Error('nothing is resolved'));
    await expect(guardedFetch(url, {}, { resolve })).rejects.toMatchObject({
      code: 'HOLDFAST_ADDRESS_REFUSED',
    });
  });

  test.each([
    '127.0.0.1',
    '::1',
    '10.1.2.3',
    '169.254.169.254',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    'fe80::1%eth0',
    'fd12::1',
    '100.100.100.200',
    'nonsense',
  ])('refuses a public name that leads to %s, alone or among others', async (address) => {
    for (const addresses of [[address], ['93.184.215.14', address]]) {
      const asked = guardedFetch('https://hooks.example.com/', {}, { resolve: async () => addresses });
      await expect(asked).rejects.toMatchObject({ code: 'HOLDFAST_ADDRESS_REFUSED' });
    }
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each(['93.184.215.14', '8.8.8.8', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'])(
    '%s is public',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  test('no address of IPv6 is public that leads to one of IPv4 which is not, whatever its form and prefix', () => {
    const byte = fc.integer({ min: 0, max: 255 });
    const v4 = fc.tuple(byte, byte, byte, byte).chain((bytes) =>
      fc.oneof(
        fc.constantFrom(...INNER).map(([range = '']) => within(range, bytes)),
        fc.constant(bytes as number[]),
      ),
    );
    const prefix = fc
      .uint8Array({ minLength: 8, maxLength: 8 })
      .map(([first = 0, ...more]) => [0x20 | (first & 0x1f), ...more]);
    fc.assert(
      fc.property(v4, prefix, fc.constantFrom(...Object.keys(FORMS)), (inner, global, form) => {
        const address = ipaddr.fromByteArray(FORMS[form]?.(inner, global) ?? []).toString();
        const leadsInside = !isPublicAddress(inner.join('.'));
        if (leadsInside) expect([form, address, isPublicAddress(address)]).toEqual([form, address, false]);
        // ISATAP is the one form that a global prefix can have.
        const isIsatap = form.startsWith('isatap') && ipaddr.parse(address).range() === 'unicast';
        if (isIsatap) expect([address, isPublicAddress(address)]).toEqual([address, !leadsInside]);
      }),
      { numRuns: inTier(300, 3_000) },
    );
  });

  test.each([
    ...['0:5efe', '100:5efe', '200:5efe', '300:5efe'].flatMap((mark) =>
      [
        '10.0.0.1',
        '127.0.0.1',
        '192.168.0.1',
        '172.16.0.1',
        '100.64.0.1',
        '198.18.0.1',
        '0.0.0.0',
        '255.255.255.255',
      ].map((inner) => `2001:470:1:2:${mark}:${inner}`),
    ),
  ])('refuses %s, which hides one of IPv4 under a global prefix', async (address) => {
    const asked = guardedFetch('https://hooks.example.com/', {}, { resolve: async () => [address] });
    await expect(asked).rejects.toMatchObject({ code: 'HOLDFAST_ADDRESS_REFUSED' });
    await expect(guardedFetch(`https://[${address}]/`)).rejects.toMatchObject({
      code: 'HOLDFAST_ADDRESS_REFUSED',
    });
  });

  test('reaches a host that is allowed, at its port alone', async () => {
    const at = await serve((_request, response) => response.end('hello'));
    const allow = [at];
    const answer = await guardedFetch(`http://${at}/x`, { method: 'POST', body: 'y' }, { allow });
    expect(answer).toMatchObject({ status: 200, cut: false });
    expect(answer.body.toString()).toBe('hello');
    const [, port = ''] = at.split(':');
    for (const url of [
      `http://127.0.0.1:${Number(port) + 1}/`,
      'http://127.0.0.1/',
      `http://127.0.0.2:${port}/`,
    ]) {
      await expect(guardedFetch(url, {}, { allow })).rejects.toMatchObject({
        code: 'HOLDFAST_ADDRESS_REFUSED',
      });
    }
    const bare = guardedFetch(`http://${at}/`, {}, { allow: ['127.0.0.1'] });
    await expect(bare).rejects.toMatchObject({ code: 'HOLDFAST_ADDRESS_REFUSED' });
  });

  test.each([
    '169.254.169.254',
    '169.254.170.2',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd00:ec2:1::5',
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    'fe80::1',
    'ff02::1',
    '::ffff:169.254.169.254',
    '::ffff:168.63.129.16',
    '::169.254.169.254',
    '::ffff:0:169.254.169.254',
    '64:ff9b::169.254.169.254',
    '64:ff9b::169.254.1.1',
    '64:ff9b::168.63.129.16',
    '64:ff9b:1::100.100.100.200',
    '64:ff9b:1:a9fe:a9:fe00::',
    '64:ff9b:1:a9:fe:a9fe::',
    '64:ff9b:1:0:a9:fea9:fe00::',
    '2002:a9fe:a9fe::1',
    '2002:a83f:8110::1',
    '2002:a9fe:1::1',
    '2001:0:a9fe:a9fe::1',
    '2001:0:808:808:0:0:5601:5601',
    '2001:db8::5efe:a9fe:a9fe',
    '::169.254.170.2',
    '::169.254.170.23',
    '::224.0.0.1',
    '2001:db8::5efe:a9fe:aa02',
    '2606:2800:21f:cb07:0:5efe:169.254.170.2',
    '2606:2800:21f:cb07:200:5efe:169.254.170.2',
    'fd12::5efe:169.254.170.2',
    'fd12::300:5efe:169.254.170.23',
  ])(
    'a host that leads to where clouds keep credentials is refused, also an allowed one: %s',
    async (address) => {
      const resolve = async () => [address];
      for (const allow of [['inner.example.com'], []]) {
        const url = allow.length === 0 ? 'https://inner.example.com/' : 'http://inner.example.com/';
        const asked = guardedFetch(url, {}, { allow, resolve, timeout: 500 });
        await expect(asked).rejects.toMatchObject({ code: 'HOLDFAST_ADDRESS_REFUSED' });
      }
      const host = address.includes(':') ? `[${address}]` : address;
      const itself = guardedFetch(
        `http://${host}/`,
        {},
        { allow: [new URL(`http://${host}`).hostname], timeout: 500 },
      );
      await expect(itself).rejects.toMatchObject({ code: 'HOLDFAST_ADDRESS_REFUSED' });
      expect([isNeverAllowed(address), isPublicAddress(address)]).toEqual([true, false]);
    },
  );

  test.each(['10.1.2.3', '127.0.0.1', '192.168.1.1', 'fd12::1', '64:ff9b::10.0.0.1', '::1'])(
    'a host that is allowed may be of the own network: %s',
    (address) => {
      expect([isNeverAllowed(address), isPublicAddress(address)]).toEqual([false, false]);
    },
  );

  test.each([301, 302, 303, 307, 308])(
    'follows no redirect to loopback or to another host: %i',
    async (status) => {
      const inner = await serve((_request, response) => response.end('secret'));
      for (const location of [
        `http://${inner}/`,
        'http://169.254.169.254/',
        'https://example.com/',
        '//[::1]/',
      ]) {
        const outer = await serve((_request, response) => response.writeHead(status, { location }).end());
        for (const method of ['GET', 'POST'] as const) {
          const asked = guardedFetch(`http://${outer}/`, { method }, { allow: [outer] });
          const isAnswer = method === 'POST' && status < 307;
          if (isAnswer) expect(await asked).toMatchObject({ status });
          else await expect(asked).rejects.toMatchObject({ code: 'HOLDFAST_ADDRESS_REFUSED' });
        }
      }
      expect(heard.filter((line) => !line.endsWith(' /'))).toEqual([]);
    },
  );

  test('not even where both are allowed', async () => {
    const inner = await serve((_request, response) => response.end('secret'));
    const outer = await serve((_request, response) =>
      response.writeHead(307, { location: `http://${inner}/inner` }).end(),
    );
    for (const leavesHost of [false, true]) {
      const asked = guardedFetch(`http://${outer}/`, {}, { allow: [outer, inner], leavesHost });
      await expect(asked).rejects.toMatchObject({ code: 'HOLDFAST_ADDRESS_REFUSED' });
    }
    expect(heard).toEqual(['GET /', 'GET /']);
  });

  test('follows three within its host', async () => {
    const at = await serve(({ url = '' }, response) => {
      const hop = Number(url.slice(1));
      if (hop > 3) response.end('there');
      else response.writeHead(307, { location: `/${hop + 1}` }).end();
    });
    const far = guardedFetch(`http://${at}/0`, {}, { allow: [at] });
    await expect(far).rejects.toMatchObject({ code: 'HOLDFAST_FETCH_FAILED' });
    expect((await guardedFetch(`http://${at}/1`, {}, { allow: [at] })).body.toString()).toBe('there');
  });

  test('uses no proxy of the environment', async () => {
    const proxy = await serve((_request, response) => response.end('proxied'));
    const at = await serve((_request, response) => response.end('direct'));
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY'])
      process.env[name] = `http://${proxy}`;
    process.env.NODE_USE_ENV_PROXY = '1';
    try {
      expect((await guardedFetch(`http://${at}/`, {}, { allow: [at] })).body.toString()).toBe('direct');
    } finally {
      for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'])
        delete process.env[name];
    }
  });

  test('reads so many bytes and no more, and waits no longer than it may', async () => {
    const at = await serve(({ url }, response) => {
      if (url === '/slow') return;
      response.write('x'.repeat(100_000));
      const more = setInterval(() => response.write('x'.repeat(100_000)), 5);
      response.once('close', () => clearInterval(more));
    });
    const { body, cut } = await guardedFetch(`http://${at}/`, {}, { allow: [at], maxBytes: 1_000 });
    expect([body.length, cut]).toEqual([1_000, true]);
    const slow = guardedFetch(`http://${at}/slow`, {}, { allow: [at], timeout: 200 });
    await expect(slow).rejects.toThrow(/^127\.0\.0\.1: no answer in time$/);
    const hung = guardedFetch(
      'https://a.example.com/',
      {},
      { resolve: () => new Promise(() => {}), timeout: 100 },
    );
    await expect(hung).rejects.toThrow('a.example.com: no answer in time');
  });

  test('errors name the host and nothing of the path', async () => {
    const secret = 'T0/S3CRET';
    for (const url of [`http://127.0.0.1:1/${secret}`, `https://127.0.0.1/${secret}`]) {
      const error = await guardedFetch(url, {}, { allow: ['127.0.0.1:1'] }).catch((thrown: Error) => thrown);
      expect(error).toBeInstanceOf(Error);
      expect(String((error as Error).stack)).not.toContain('S3CRET');
    }
  });
});

describe('a name that changes its mind [webhook.ssrf]', () => {
  let dns: Socket;
  let asked = 0;
  const resolver = new Resolver();

  beforeAll(async () => {
    dns = createSocket('udp4');
    // A public address at the first look, this machine at all others.
    dns.on('message', (query, from) => {
      asked += 1;
      const address = asked === 1 ? [203, 0, 114, 1] : [127, 0, 0, 1];
      const end = query.indexOf(0, 12) + 5;
      const header = Buffer.from(query.subarray(0, 12));
      header.writeUInt16BE(0x8180, 2);
      header.writeUInt16BE(1, 6);
      header.writeUInt16BE(0, 8);
      header.writeUInt16BE(0, 10);
      const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address]);
      dns.send(Buffer.concat([header, query.subarray(12, end), answer]), from.port, from.address);
    });
    await new Promise<void>((resolve) => dns.bind(0, '127.0.0.1', resolve));
    resolver.setServers([`127.0.0.1:${dns.address().port}`]);
  });
  afterAll(() => dns.close());

  test('is asked once, and the connection goes to what was looked at', async () => {
    const resolve = (host: string) => resolver.resolve4(host);
    // Nobody answers there: what counts is that nobody here is asked.
    const first = guardedFetch('https://rebind.example.com/', {}, { resolve, timeout: 500 });
    await expect(first).rejects.toMatchObject({ code: 'HOLDFAST_FETCH_FAILED' });
    expect(asked).toBe(1);
    const second = guardedFetch('https://rebind.example.com/', {}, { resolve, timeout: 60_000 });
    await expect(second).rejects.toMatchObject({ code: 'HOLDFAST_ADDRESS_REFUSED' });
  });
});
