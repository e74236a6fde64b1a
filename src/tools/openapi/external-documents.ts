import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HoldfastError } from '../../contract/error.ts';
import { guardedFetch } from '../../net/guarded-fetch.ts';
import { isRecord } from '../../protocol/json.ts';
import { messageOf } from '../../protocol/message-of.ts';
import { DocumentProblem, quoted } from './openapi-document.ts';

/** Other documents to which references may lead. */
export interface ExternalReferences {
  /**
   * Addresses: one that ends with `/` allows all that begin with it, any other one allows that document. `./` is the folder of the document.
   * Files are read in that folder alone.
   *
   * @example ['./', 'https://schemas.example.com/v1/']
   */
  allow: readonly string[];
}

/** Where a document is, and where its references may lead. */
export interface ExternalPlace extends ExternalReferences {
  /** Address of the document. @default none: only absolute references lead somewhere */
  base?: string;
  /** Hosts that may be asked without TLS and in a private network. */
  hosts: readonly string[];
}

const MOST_DOCUMENTS = 100;
/** Bytes of all of them. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Milliseconds for one. */
const FETCH_TIME = 10_000;
/** Field of the document that has the others. */
const FIELD = 'x-holdfast-documents';

/**
 * Adds to a document the other ones to which its references lead, and those of these, as far as they are allowed. The references then
 * lead to places within the document. Any other reference stays as it is: the operation that needs it says so.
 *
 * @param document is changed.
 * @throws DocumentProblem naming the reference whose document can't be read.
 */
export async function addExternalDocuments(
  document: unknown,
  { base, allow, hosts }: ExternalPlace,
  parse: (text: string) => Promise<unknown>,
): Promise<void> {
  if (!isRecord(document)) return;
  const prefixes = allow.map((entry) => URL.parse(entry, base)?.href ?? '');
  const isAllowed = ({ href }: URL) =>
    prefixes.some((prefix) => href === prefix || (prefix.endsWith('/') && href.startsWith(prefix)));
  const added: Record<string, unknown> = {};
  const places = new Map<string, string>(base === undefined ? [] : [[base, '']]);
  const rest: { value: unknown; address: string | undefined; place: string }[] = [
    { value: document, address: base, place: '' },
  ];
  let left = MOST_BYTES;
  for (const { value, address, place } of rest) {
    for (const holder of holdersIn(value)) {
      const { $ref } = holder;
      if ($ref.startsWith('#')) {
        holder.$ref = `#${place}${$ref.slice(1)}`;
        continue;
      }
      const url = URL.parse($ref, address);
      if (url === null) continue;
      const { hash } = url;
      url.hash = '';
      let found = places.get(url.href);
      if (found === undefined) {
        if (!isAllowed(url)) continue;
        if (rest.length > MOST_DOCUMENTS)
          throw new DocumentProblem(`its references lead to more than ${MOST_DOCUMENTS} documents`);
        const text = await textOf(url, { base, hosts, left, $ref });
        left -= Buffer.byteLength(text);
        const name = `${url.pathname.split('/').at(-1)?.replaceAll(/\W/g, '_').slice(-40)}_${places.size}`;
        found = `/${FIELD}/${name}`;
        places.set(url.href, found);
        added[name] = await parsedOr($ref, text, parse);
        rest.push({ value: added[name], address: url.href, place: found });
      }
      holder.$ref = `#${found}${hash.slice(1)}`;
    }
  }
  if (Object.keys(added).length > 0) document[FIELD] = added;
}

/** Objects with a reference, each once. */
function holdersIn(value: unknown): { $ref: string }[] {
  const found: { $ref: string }[] = [];
  // Aliases of YAML are one object in several places.
  const seen = new Set<unknown>();
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next !== 'object' || next === null || seen.has(next)) continue;
    seen.add(next);
    if ('$ref' in next && typeof next.$ref === 'string') found.push(next as { $ref: string });
    for (const member of Object.values(next)) rest.push(member);
  }
  return found;
}

async function textOf(
  url: URL,
  {
    base,
    hosts,
    left,
    $ref,
  }: { base: string | undefined; hosts: readonly string[]; left: number; $ref: string },
): Promise<string> {
  try {
    const bytes = url.protocol === 'file:' ? await fileAt(url, base, left) : await answerOf(url, hosts, left);
    return bytes.toString('utf8');
  } catch (error) {
    throw new DocumentProblem(`$ref ${quoted($ref)}: ${messageOf(error).slice(0, 200)}`, { cause: error });
  }
}

async function answerOf(url: URL, allow: readonly string[], maxBytes: number): Promise<Buffer> {
  const { status, body, cut } = await guardedFetch(url, {}, { allow, timeout: FETCH_TIME, maxBytes });
  if (status !== 200) throw new HoldfastError('HOLDFAST_FETCH_FAILED', `the server answered ${status}`);
  if (cut) throw tooLarge();
  return body;
}

/** A link may lead out of the folder. */
async function fileAt(url: URL, base: string | undefined, left: number): Promise<Buffer> {
  const path = await realpath(fileURLToPath(url));
  const folder = base?.startsWith('file:') ? await realpath(dirname(fileURLToPath(base))) : undefined;
  if (folder === undefined || !path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`))
    throw new DocumentProblem("the file is outside of the document's folder");
  const { size } = await stat(path);
  if (size > left) throw tooLarge();
  return await readFile(path);
}

function tooLarge(): DocumentProblem {
  return new DocumentProblem(`with it the documents have more than ${MOST_BYTES / 1024 / 1024} MiB`);
}

async function parsedOr($ref: string, text: string, parse: (text: string) => Promise<unknown>) {
  try {
    return await parse(text);
  } catch (error) {
    throw new DocumentProblem(`$ref ${quoted($ref)}: it can't be read: ${messageOf(error).slice(0, 200)}`);
  }
}
