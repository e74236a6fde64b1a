import { parentPort, workerData } from 'node:worker_threads';
import type { ReadableText } from './readable-text.ts';

interface PageNode {
  nodeType: number;
  nodeName: string;
  textContent: string | null;
  childNodes: Iterable<PageNode>;
}

const TEXT_NODE = 3;
const ELEMENT_NODE = 1;
const BLOCKS =
  /^(?:address|article|aside|blockquote|br|dd|div|dl|dt|figcaption|figure|footer|h[1-6]|header|hr|li|main|ol|p|pre|section|table|tr|ul)$/i;
const CELLS = /^(?:td|th)$/i;
const UNREAD = /^(?:script|style|template|noscript|title)$/i;

/** The text of a part of a page: a line for each block, and cells of a row apart. */
function textOf(root: PageNode): string {
  const pieces: string[] = [];
  const add = (node: PageNode, isPre: boolean): void => {
    const { nodeName: name, nodeType: type } = node;
    if (type === TEXT_NODE) {
      const text = node.textContent ?? '';
      const words = isPre ? text : text.replaceAll(/\s+/g, ' ');
      pieces.push(!isPre && pieces.at(-1) === '\n' ? words.trimStart() : words);
    }
    if (type !== ELEMENT_NODE || UNREAD.test(name)) return;
    const isBlock = BLOCKS.test(name);
    if (isBlock) pieces.push('\n');
    for (const child of node.childNodes) add(child, isPre || /^pre$/i.test(name));
    if (isBlock || CELLS.test(name)) pieces.push(isBlock ? '\n' : '\t');
  };
  for (const child of root.childNodes) add(child, false);
  const lines = pieces.join('').split('\n');
  return lines.flatMap((line) => (line.trim() === '' ? [] : [line.trimEnd()])).join('\n');
}

async function read(html: string): Promise<ReadableText> {
  // Both are optional: the file loads without them.
  const { Readability } = await import('@mozilla/readability');
  const { parseHTML } = await import('linkedom');
  // Without these it would be no document to the parser.
  const whole = /<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`;
  const { document } = parseHTML(whole);
  const all = textOf(document as unknown as PageNode);
  const article = new Readability<string>(document, {
    serializer: (node) => textOf(node as unknown as PageNode),
    disableJSONLD: true,
  }).parse();
  const title = (article?.title || document.querySelector('title')?.textContent || '').trim();
  // A page that is no article may have all its words elsewhere.
  return { ...(title === '' ? {} : { title }), text: article?.content || all };
}

const { html } = Object(workerData) as { html?: string };
if (html !== undefined) parentPort?.postMessage(await read(html));
