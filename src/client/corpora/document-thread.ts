import { parentPort } from 'node:worker_threads';
import { thrownMessage } from '../../schema/thrown-message.ts';
import { readableText } from '../../tools/web/readable-text.ts';

/** Title and text of a document. */
export interface DocumentText {
  title?: string | undefined;
  /** The text, that of a PDF by pages. */
  pages: readonly string[];
  /** By what a passage is cited; of a web page neither lines nor pages are its author's. */
  place?: 'line' | 'page';
}

export type ReadDocument = { kind: 'pdf'; bytes: Uint8Array } | { kind: 'html'; text: string };
export type ReadText = DocumentText | { problem: string };

/** Characters of a document's text, at most: a small file may have any number. */
const LONGEST_DOCUMENT = 20_000_000;

parentPort?.on('message', async (document: ReadDocument) => {
  const answer = await textOf(document).catch((error: unknown) => ({ problem: thrownMessage(error) }));
  parentPort?.postMessage(answer);
});

async function textOf(document: ReadDocument): Promise<DocumentText> {
  if (document.kind === 'pdf') return await textOfPdf(document.bytes);
  const { title, text } = await readableText(document.text);
  return { title, pages: [text] };
}

async function textOfPdf(bytes: Uint8Array): Promise<DocumentText> {
  const { getDocumentProxy } = await import('unpdf').catch(() => {
    throw new Error('it needs the package unpdf, which is not installed: npm install unpdf');
  });
  const pdf = await getDocumentProxy(bytes, { verbosity: 0 });
  const { info } = await pdf.getMetadata();
  const { Title: title } = info as { Title?: unknown };
  const pages: string[] = [];
  let length = 0;
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('');
    length += text.length;
    if (length > LONGEST_DOCUMENT) throw new Error(`its text has more than ${LONGEST_DOCUMENT} characters`);
    pages.push(text);
    page.cleanup();
  }
  await pdf.loadingTask.destroy();
  if (length === 0) throw new Error('it has no text, only pictures perhaps');
  return { title: typeof title === 'string' && title !== '' ? title : undefined, pages, place: 'page' };
}
