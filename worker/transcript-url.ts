import { DefinitionError } from '../src/schema/definition-error.ts';
import type { SessionNames } from '../src/store/sessions/session-names.ts';

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
