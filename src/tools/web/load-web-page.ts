import { z } from 'zod';
import { HoldfastError } from '../../contract/error.ts';
import { type GuardedAnswer, guardedFetch, retryAfterOf } from '../../net/guarded-fetch.ts';
import { ownVersion } from '../../own-files.ts';
import { defined } from '../../protocol/json.ts';
import { thrownMessage } from '../../schema/thrown-message.ts';
import { FunctionTool } from '../function-tool.ts';
import { formOf } from '../spooled/spool-options.ts';
import { isToolError, ToolError } from '../tool-error.ts';
import { readableText } from './readable-text.ts';

/** `timeoutMs` is that of `@google/adk` 2.0.0. */
export interface LoadWebPageOptions {
  /** Milliseconds that the answer may take, redirects included. @default 30_000 */
  timeoutMs?: number;
  /** Hosts that may be asked without TLS and at private addresses: `name`, or `name:port`. @default none */
  allow?: readonly string[];
}

const MOST_BYTES = 4 * 1024 * 1024;
const HEADERS = {
  accept: 'text/html, text/plain;q=0.9, */*;q=0.1',
  'user-agent': `Holdfast/${ownVersion()}`,
};
/** The encoding of a page whose server does not name it. */
const DECLARED = /<meta\s[^>]{0,200}charset\s{0,10}=\s{0,10}["']?([\w-]{1,40})/i;

/**
 * Loads a page of the web and gives its readable text, its title first. Only addresses of https at the public internet are asked, also after
 * a redirect, unless `allow` has the host. The first 4 MiB of a long page are read. Semantics: `loadWebPage` of `@google/adk` 2.0.0.
 *
 * @returns the text; after a failure one that begins with `Failed to fetch url:` and says the reason.
 */
export async function loadWebPage(url: string, options: LoadWebPageOptions = {}): Promise<string> {
  return await pageText(url, options).catch(thrownMessage);
}

/**
 * `load_web_page`: the model names a page, and gets its readable text. A long one is spooled. The text counts as data of others.
 *
 * @example new LlmAgent({ name: 'reader', model: 'gemini-2.5-flash', tools: [webPageTool({ allow: ['wiki.internal'] })] })
 */
export function webPageTool(options: LoadWebPageOptions = {}) {
  return new FunctionTool({
    name: 'load_web_page',
    description: 'Loads a page of the web, and gives the text that a person would read there.',
    parameters: z.object({ url: z.string().max(2_048).describe('Address of the page, with https.') }),
    isReadOnly: true,
    spool: true,
    execute: ({ url }, { abortSignal }) => pageText(url, options, abortSignal),
  });
}

/** {@link webPageTool} without options. Name: that of `@google/adk` 2.0.0. */
export const LOAD_WEB_PAGE = webPageTool();

/** @throws ToolError */
async function pageText(url: string, options: LoadWebPageOptions, signal?: AbortSignal): Promise<string> {
  const { timeoutMs: timeout = 30_000, allow = [] } = options;
  try {
    const how = { timeout, maxBytes: MOST_BYTES, allow, leavesHost: true };
    const answer = await guardedFetch(url, { headers: HEADERS, ...defined({ signal }) }, how);
    if (answer.status !== 200) throw statusError('the server', answer);
    const text = await textOf(answer);
    return answer.cut ? `${text}\n\n[The page goes on: only ${MOST_BYTES} bytes of it were read.]` : text;
  } catch (cause) {
    signal?.throwIfAborted();
    const { code, retryable = false } = cause instanceof HoldfastError ? cause : {};
    const retryAfter = isToolError(cause) ? cause.retryAfter : undefined;
    const message = `Failed to fetch url: ${url.slice(0, 2_048)}: ${thrownMessage(cause)}`;
    throw new ToolError(message, { ...defined({ code, retryAfter }), retryable, cause });
  }
}

/** The refusal of a server, told by its status alone. */
export function statusError(server: string, { status, headers }: GuardedAnswer): ToolError {
  const retryable = status === 429 || status >= 500;
  const retryAfter = retryAfterOf(headers['retry-after'], Date.now());
  const code = 'HOLDFAST_FETCH_FAILED';
  return new ToolError(`${server} answered ${status}`, { code, retryable, ...defined({ retryAfter }) });
}

async function textOf({ headers, body }: GuardedAnswer): Promise<string> {
  const { 'content-type': given = 'text/html', 'content-encoding': encoding } = headers;
  const type = (given.split(';', 1)[0] ?? '').trim().toLowerCase();
  const isPage = type === 'text/html' || type === 'application/xhtml+xml';
  if (encoding !== undefined || (!isPage && formOf(type) === 'binary')) {
    const message = `it is no page of text, but ${type.slice(0, 100)} ${encoding?.slice(0, 40) ?? ''}`.trim();
    throw new ToolError(message, { code: 'HOLDFAST_PAGE_UNREADABLE', retryable: false });
  }
  const declared = isPage ? DECLARED.exec(body.subarray(0, 1024).toString('latin1')) : undefined;
  const named = /;\s*charset="?([\w-]{1,40})/i.exec(given) ?? declared;
  const text = new TextDecoder(named?.[1]).decode(body);
  if (!isPage) return text;
  const { title, text: words } = await readableText(text);
  return title === undefined ? words : `${title}\n\n${words}`;
}
