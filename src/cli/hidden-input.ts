import { visibleLines } from '../protocol/visible-text.ts';
import { type CliError, Interrupted, UsageError } from './cli-error.ts';

const LONGEST = 64 * 1024;

/**
 * A secret: typed at a terminal that doesn't show it, or all of standard input without the line end after it. It is never in the
 * command line, which other processes and the shell's history see.
 *
 * @throws CliError where there is none, or it is too long; 130 on Ctrl-C.
 */
export async function readSecret(
  question: string,
  input: NodeJS.ReadStream = process.stdin,
  err: NodeJS.WritableStream = process.stderr,
  { mayBeEmpty = false, signal }: { mayBeEmpty?: boolean; signal?: AbortSignal } = {},
): Promise<string> {
  const secret = input.isTTY ? await typedSecret(question, input, err, signal) : await pipedSecret(input);
  if (secret === '' && !mayBeEmpty)
    throw new UsageError('there is no secret on standard input: type it, or pipe it in');
  return secret;
}

async function pipedSecret(input: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > LONGEST) throw tooLong();
    chunks.push(bytes);
  }
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}

function typedSecret(
  question: string,
  input: NodeJS.ReadStream,
  err: NodeJS.WritableStream,
  signal: AbortSignal | undefined,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const wasRaw = input.isRaw;
  let typed = '';
  const end = (settle: () => void) => {
    input.off('data', take).off('error', fail);
    signal?.removeEventListener('abort', cutOff);
    input.setRawMode(wasRaw);
    input.pause();
    err.write('\n');
    settle();
  };
  const cutOff = () => end(() => reject(signal?.reason));
  const fail = (error: Error) => end(() => reject(error));
  const take = (chunk: Buffer) => {
    for (const key of chunk.toString('utf8')) {
      if (key === '\r' || key === '\n') return end(() => resolve(typed));
      if (key === '\u0003') return end(() => reject(new Interrupted('interrupted')));
      if (key === '\u0004') return end(() => resolve(''));
      if (key === '\u007f' || key === '\b') typed = Array.from(typed).slice(0, -1).join('');
      else if (key === '\u0015') typed = '';
      else if (key >= ' ') typed += key;
      if (typed.length > LONGEST) return end(() => reject(tooLong()));
    }
  };
  if (signal?.aborted) return Promise.reject(signal.reason);
  signal?.addEventListener('abort', cutOff);
  // Before anybody is asked: what is typed at once would be shown.
  input.setRawMode(true);
  err.write(`${visibleLines(question)} (not shown): `);
  input.on('data', take).on('error', fail);
  input.resume();
  return promise;
}

function tooLong(): CliError {
  return new UsageError(`the secret is longer than ${LONGEST} bytes`);
}
