import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { braveSearch } from '../../src/tools/web/brave-search.ts';
import { LOAD_WEB_PAGE, loadWebPage, webPageTool } from '../../src/tools/web/load-web-page.ts';
import { readableText } from '../../src/tools/web/readable-text.ts';
import { type WebSearch, webSearchTool } from '../../src/tools/web/web-search-tool.ts';
import { refusal } from './refusal.ts';
import { contextWith } from './tool-context.ts';

const KEY = 'BSA-secret-key-0123456789';
const PAGE = `<!doctype html><html><head><title>Prices &amp; terms</title><style>p{}</style></head>
<body><nav><a href="/">Home</a></nav><article><h1>What it costs</h1><p>A ticket   costs <b>12 €</b>,
and children go free.</p><ul><li>one</li><li>two</li></ul><pre>a
  b</pre><table><tr><td>x</td><td>y</td></tr></table></article><script>alert(1)</script></body></html>`;

/** How the server answers, by path. */
const ROUTES: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
  '/page': (_, response) => response.setHeader('content-type', 'text/html; charset=utf-8').end(PAGE),
  '/latin': (_, response) =>
    response
      .setHeader('content-type', 'text/html')
      .end(Buffer.from('<meta charset="iso-8859-1"><p>Caf\u00e9 au lait</p>', 'latin1')),
  '/odd': (_, response) =>
    response.setHeader('content-type', 'text/plain; charset=klingon').end('plain words'),
  '/json': (_, response) => response.setHeader('content-type', 'application/json').end('{"a":1}'),
  '/pdf': (_, response) => response.setHeader('content-type', 'application/pdf').end('%PDF-1.7'),
  '/zip': (_, response) =>
    response.setHeader('content-type', 'text/html').setHeader('content-encoding', 'gzip').end('x'),
  '/gone': (_, response) => response.writeHead(404).end('secret body'),
  '/busy': (_, response) => response.writeHead(503, { 'retry-after': '7' }).end(),
  '/moved': (_, response) => response.writeHead(302, { location: '/page' }).end(),
  '/inside': (_, response) => response.writeHead(302, { location: 'https://169.254.169.254/latest' }).end(),
  '/long': (_, response) => response.setHeader('content-type', 'text/plain').end('a'.repeat(5_000_000)),
  '/slow': () => undefined,
  '/res/v1/web/search': (request, response) => {
    asked.push(request);
    search(request, response);
  },
};
const asked: IncomingMessage[] = [];
let search: (request: IncomingMessage, response: ServerResponse) => void;

const server = createServer((request, response) => {
  const route = ROUTES[request.url?.split('?')[0] ?? ''];
  if (route === undefined) response.writeHead(404).end();
  else route(request, response);
});
let host: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const run = (tool: BaseTool, args: Record<string, unknown>) =>
  tool.runAsync({ args, toolContext: contextWith() });
const load = (path: string, more: { timeoutMs?: number } = {}) =>
  loadWebPage(`http://${host}${path}`, { allow: [host], ...more });

describe('a page', () => {
  test('is its title and the text that a person reads, a line for each block [web.page]', async () => {
    expect(await load('/page')).toBe(
      'Prices & terms\n\nWhat it costs\nA ticket costs 12 €, and children go free.\none\ntwo\na\n  b\nx\ty',
    );
    expect(await load('/moved')).toContain('A ticket costs');
    expect(await load('/latin')).toBe('Café au lait');
    expect(await load('/odd')).toContain('klingon');
    expect(await load('/json')).toBe('{"a":1}');
    const long = await load('/long');
    expect(long.length).toBeLessThan(4_300_000);
    expect(long).toMatch(/a\n\n\[The page goes on: only 4194304 bytes of it were read\.\]$/);
  });

  test.each([
    ['/pdf', 'it is no page of text, but application/pdf'],
    ['/zip', 'it is no page of text, but text/html gzip'],
    ['/gone', 'the server answered 404'],
    ['/inside', 'redirects to another host'],
  ])('at %s is told as a failure with its reason [web.page]', async (path, reason) => {
    const text = await load(path);
    expect(text).toContain(`Failed to fetch url: http://${host}${path}: `);
    expect(text).toContain(reason);
    expect(text).not.toContain('secret body');
  });

  test('that does not come in time is given up [web.page]', async () => {
    expect(await load('/slow', { timeoutMs: 50 })).toContain('no answer in time');
  });

  test.each(['http://example.com/', 'https://127.0.0.1/', 'https://localhost/', 'file:///etc/passwd', 'x'])(
    'at %s is not asked for [web.guard]',
    async (url) => {
      expect(await loadWebPage(url)).toMatch(/^Failed to fetch url: /);
      await expect(run(LOAD_WEB_PAGE, { url })).rejects.toMatchObject({
        code: 'HOLDFAST_ADDRESS_REFUSED',
        retryable: false,
      });
    },
  );

  test('is a tool whose result is spooled and not trusted, and whose failures say whether they pass [web.page]', async () => {
    const tool = webPageTool({ allow: [host] });
    expect(await run(tool, { url: `http://${host}/page` })).toContain('A ticket costs');
    const spool = { over: 16 * 1024 };
    expect(tool).toMatchObject({ name: 'load_web_page', trusted: false, isReadOnly: true, spool });
    const failed = (path: string) => run(tool, { url: `http://${host}${path}` });
    await expect(failed('/busy')).rejects.toMatchObject({ retryable: true, retryAfter: 7_000 });
    await expect(failed('/gone')).rejects.toMatchObject({ retryable: false });
    await expect(run(tool, { url: 'a'.repeat(3_000) })).rejects.toThrow('invalid arguments: url');
  });

  test('that would take minutes to read is given up, and the process goes on meanwhile [web.hostile]', async () => {
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 10);
    const hostile = readableText('<div>'.repeat(1_000_000));
    const next = readableText('<p>next</p>');
    await expect(hostile).rejects.toMatchObject({ code: 'HOLDFAST_PAGE_UNREADABLE', retryable: false });
    clearInterval(timer);
    expect(await next).toEqual({ text: 'next' });
    expect(ticks).toBeGreaterThan(100);
    await expect(readableText('a'.repeat(9_000_000))).rejects.toThrow('more than 8388608 characters');
    const odd = '<!doctype html><title>T</title><body class="a"><p>Hi <b>there</b></p><p>two';
    expect(await readableText('<html><p>no body</html>')).toEqual({ text: 'no body' });
    expect(await readableText(odd)).toEqual({ title: 'T', text: 'Hi there\ntwo' });
  });
});

describe('a search of the web', () => {
  const brave = () => braveSearch({ apiKey: KEY, url: `http://${host}/res/v1/web/search` });
  const found = (results: unknown): typeof search => {
    const body = { type: 'search', query: { original: 'q' }, web: { type: 'search', results } };
    return (_, response) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  };

  test('asks Brave by its key, and gives titles, addresses and bounded texts [web.search]', async () => {
    const description = 'd'.repeat(5_000);
    search = found([
      { title: 'Holdfast', url: 'https://example.com/', description, extra_snippets: ['x'] },
      { title: 7, url: 'https://example.org/' },
    ]);
    const tool = webSearchTool({ search: brave() });
    expect(tool).toMatchObject({ name: 'web_search', trusted: false, isReadOnly: true });
    const { results } = (await run(tool, { query: ' durable  agents ', limit: 2 })) as {
      results: { text: string }[];
    };
    expect(results).toMatchObject([
      { title: 'Holdfast', url: 'https://example.com/' },
      { title: '', url: 'https://example.org/', text: '' },
    ]);
    expect(results[0]?.text).toHaveLength(2_000);
    const request = asked.at(-1);
    expect(request?.headers).toMatchObject({ 'x-subscription-token': KEY, accept: 'application/json' });
    const { searchParams } = new URL(request?.url ?? '', 'http://x');
    expect(Object.fromEntries(searchParams)).toEqual({
      q: 'durable agents',
      count: '2',
      text_decorations: 'false',
    });
  });

  test.each([
    [401, false],
    [422, false],
    [429, true],
    [503, true],
  ])(
    'that Brave answers with %d tells the status, and never the key [web.search]',
    async (status, retryable) => {
      search = (_, response) =>
        response.writeHead(status, { 'retry-after': '3' }).end(JSON.stringify({ error: { detail: KEY } }));
      const error = await run(webSearchTool({ search: brave() }), { query: 'q' }).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ message: expect.stringContaining(`answered ${status}`), retryable });
      expect(JSON.stringify(error) + String((error as Error).stack)).not.toContain(KEY);
    },
  );

  test.each([
    ['no JSON', (_: unknown, response: ServerResponse) => void response.end(`<html>${KEY}`)],
    ['too much', (_: unknown, response: ServerResponse) => void response.end('[1,'.repeat(1_000_000))],
    ['no list', (...to: Parameters<typeof search>) => found('all of it')(...to)],
    [
      'a redirect',
      (_: unknown, response: ServerResponse) =>
        void response.writeHead(302, { location: 'https://example.com/' }).end(),
    ],
  ])('that Brave answers with %s is a failure [web.search]', async (_, answer) => {
    search = answer;
    const error = await run(webSearchTool({ search: brave() }), { query: 'q' }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).not.toContain(KEY);
  });

  test('that finds nothing has no results [web.search]', async () => {
    search = (_, response) => response.end(JSON.stringify({ type: 'search', query: {} }));
    expect(await run(webSearchTool({ search: brave() }), { query: 'q' })).toEqual({ results: [] });
  });

  test('takes any engine, and refuses what is none [web.search]', async () => {
    const engine: WebSearch = {
      search: async (query, { limit }) =>
        Array.from({ length: 50 }, () => ({ title: query, url: `u${limit}`, text: '' })),
    };
    const { results } = (await run(webSearchTool({ search: engine }), { query: 'q' })) as {
      results: unknown[];
    };
    expect(results).toHaveLength(5);
    const none = { search: async () => 'x' } as unknown as WebSearch;
    await expect(run(webSearchTool({ search: none }), { query: 'q' })).rejects.toThrow(
      'results: expected array',
    );
    expect(refusal(() => webSearchTool({ search: {} as WebSearch })).message).toContain('search: expected');
    expect(refusal(() => braveSearch({ apiKey: `${KEY}\n` })).message).not.toContain(KEY);
    expect(refusal(() => braveSearch({ apiKey: '' })).message).toContain('apiKey: expected printable');
    expect(refusal(() => braveSearch({ apiKey: KEY, url: 'x' })).message).toContain('url: expected');
  });
});
