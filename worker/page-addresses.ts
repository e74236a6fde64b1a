import { DefinitionError } from '../src/schema/definition-error.ts';
import type { SessionNames } from '../src/store/sessions/session-names.ts';

/** Where services outside reach the gateway, as an option has it: where a port comes late, a function that says it once it is known. */
export type GivenPublicUrl = string | (() => string | undefined);

/**
 * @param given defaults to `HOLDFAST_PUBLIC_URL`.
 * @returns a function that returns the URL without a slash at its end.
 * @throws DefinitionError for a value that is no http or https URL.
 */
export function publicUrl(
  given: GivenPublicUrl | undefined,
  env: Readonly<Record<string, string | undefined>>,
): () => string | undefined {
  if (typeof given === 'function') {
    return () => {
      const url = given();
      return url === undefined ? undefined : readUrl('publicUrl', url);
    };
  }
  if (given !== undefined) {
    const url = readUrl('publicUrl', given);
    return () => url;
  }
  const variable = env.HOLDFAST_PUBLIC_URL?.trim();
  const url = variable === undefined ? undefined : readUrl('HOLDFAST_PUBLIC_URL', variable);
  return () => url;
}

function readUrl(field: string, given: unknown): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  const isUsable = url !== undefined && ['http:', 'https:'].includes(url.protocol) && url.host !== '';
  if (!isUsable || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    throw new DefinitionError({
      owner: 'createWorker',
      field,
      problem:
        'expected an http or https URL without query and credentials, such as https://agents.example.com',
    });
  }
  return url.href.replace(/(?<!\/)\/+$/, '');
}

/** It stands in Markdown, as a link. */
const URL_TEXT = /^https?:\/\/[^\s<>()]+$/;
const PLACES = /\{(app|user|session)\}/g;

/** @throws DefinitionError for a value that is no URL with the place `{session}`. */
export function transcriptUrl(template: unknown): ((names: SessionNames) => string) | undefined {
  if (template === undefined) return undefined;
  if (typeof template !== 'string' || !URL_TEXT.test(template) || !template.includes('{session}')) {
    throw new DefinitionError({
      owner: 'createWorker',
      field: 'transcriptUrl',
      problem: 'expected an http or https URL with the places {app}, {user} and {session}, or nothing',
    });
  }
  return ({ app, userId, sessionId }) => {
    const values: Record<string, string> = { app, user: userId, session: sessionId };
    return template.replace(PLACES, (_place, name: string) => encoded(values[name] ?? ''));
  };
}

/** A parenthesis would end the link. */
function encoded(value: string): string {
  return encodeURIComponent(value).replace(/[()]/g, (character) => (character === '(' ? '%28' : '%29'));
}
