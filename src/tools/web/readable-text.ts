import { codedError } from '../../contract/error.ts';
import { moduleFile } from '../../own-files.ts';
import { messageOf } from '../../protocol/message-of.ts';
import { assertInstalled } from '../../schema/installed-package.ts';
import { answerOfThread } from '../../schema/thread-answer.ts';

/** A page that is too large, or takes too long or too much memory to read. */
class PageUnreadable extends codedError('HOLDFAST_PAGE_UNREADABLE') {}

export interface ReadableText {
  title?: string;
  /** Plain text, a line for each block. */
  text: string;
}

const MOST_CHARACTERS = 8 * 1024 * 1024;
/** Milliseconds. An ordinary page takes some 50; 100 KB of nested elements would take minutes. */
const MOST_TIME = 10_000;
/** Mebibytes. */
const MOST_HEAP = 512;

/** Pages are read one after another: each may take the whole of a thread's room. */
let last: Promise<unknown> = Promise.resolve();

/**
 * The text of a page that a person would read, without menus and the like, by `@mozilla/readability`. A page may be hostile: it is read in a
 * thread, which ends after 10 seconds.
 *
 * @param html up to 8 Mi characters.
 * @throws DefinitionError where `@mozilla/readability` or `linkedom` is not installed.
 * @throws PageUnreadable
 */
export async function readableText(html: string): Promise<ReadableText> {
  for (const name of ['@mozilla/readability', 'linkedom']) assertInstalled('readableText', name);
  if (html.length > MOST_CHARACTERS)
    throw new PageUnreadable(`it has more than ${MOST_CHARACTERS} characters`);
  const read = last.then(() => {
    const signal = AbortSignal.timeout(MOST_TIME);
    const thread = moduleFile('src/tools/web/readable-text-thread');
    return answerOfThread<ReadableText>(thread, { html }, { heap: MOST_HEAP, signal });
  });
  last = Promise.allSettled([read]);
  return await read.catch((error: unknown) => {
    throw new PageUnreadable(`it can't be read: ${messageOf(error).slice(0, 200)}`);
  });
}
