import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { moduleFile } from '../../own-files.ts';
import { thrownMessage } from '../../schema/thrown-message.ts';
import type { DocumentText, ReadDocument, ReadText } from './document-thread.ts';

const THREADED: Readonly<Record<string, ReadDocument['kind']>> = {
  '.pdf': 'pdf',
  '.html': 'html',
  '.htm': 'html',
};
const MARKDOWN = /^\.(md|markdown)$/;
const HEADING = /^#{1,6} +(.{1,500}?) *#*$/m;
/** Milliseconds that one document may take. */
const LONGEST_READING = 60_000;
/** Mebibytes of the thread's heap. */
const LARGEST_HEAP = 1_024;

/** Reads the text out of documents. HTML and PDF in a thread, since a document of another party may take any time and memory. */
export class DocumentReader {
  #thread: Worker | undefined;

  /** @throws Error that says why the document has no text. */
  async read(path: string, bytes: Uint8Array<ArrayBuffer>): Promise<DocumentText> {
    const ending = extname(path).toLowerCase();
    const kind = THREADED[ending];
    if (kind === 'pdf') return await this.#inThread({ kind, bytes });
    const text = textOf(bytes);
    if (kind === 'html') return await this.#inThread({ kind, text });
    const title = MARKDOWN.test(ending) ? HEADING.exec(text.slice(0, 4_000))?.[1] : undefined;
    return { title, pages: [text], place: 'line' };
  }

  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  async #inThread(document: ReadDocument): Promise<DocumentText> {
    this.#thread ??= new Worker(moduleFile('src/client/corpora/document-thread'), {
      resourceLimits: { maxOldGenerationSizeMb: LARGEST_HEAP },
    });
    const thread = this.#thread;
    const answer = Promise.withResolvers<ReadText>();
    const timer = setTimeout(() => answer.reject(new Error('it takes more than a minute')), LONGEST_READING);
    thread.on('message', answer.resolve).on('error', answer.reject);
    try {
      thread.postMessage(document);
      const read = await answer.promise;
      if ('problem' in read) throw new Error(read.problem);
      return read;
    } catch (error) {
      this.#thread = undefined;
      await thread.terminate();
      throw new Error(thrownMessage(error));
    } finally {
      clearTimeout(timer);
      thread.off('message', answer.resolve).off('error', answer.reject);
    }
  }
}

function textOf(bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Error('it is no text in UTF-8', { cause });
  }
  if (text.includes('\0')) throw new Error('it is binary');
  return text;
}
