import { codedError } from '../contract/error.ts';

// The look-behind keeps a long run of braces from being tried at each of them.
const PLACEHOLDER = /(?<!\{)\{+[^{}]*\}+/g;
const NAME = /^((app|user|temp):)?[a-zA-Z_][a-zA-Z0-9_]*$/;
const ARTIFACT = 'artifact.';

/** A placeholder of an instruction names a key that the state doesn't have. */
export class MissingTemplateValue extends codedError('HOLDFAST_TEMPLATE_VALUE') {}

/**
 * Fills the placeholders of an instruction from the state: `{key}`, `{app:key}`, `{user:key}`, `{temp:key}`; with `?` after the key
 * it may be missing. Other text in braces stays as it is. Objects are written as JSON. Semantics: `injectSessionState` of
 * `@google/adk` 2.0.0.
 *
 * @param states the first that has a key counts.
 * @throws MissingTemplateValue also for `{artifact.name}`: there is no artifact service.
 */
export function fillTemplate(
  template: string,
  ...states: readonly Readonly<Record<string, unknown>>[]
): string {
  return template.replace(PLACEHOLDER, (placeholder) => {
    const inside = placeholder.replace(/^\{+|(?<!\})\}+$/g, '').trim();
    const optional = inside.endsWith('?');
    const key = optional ? inside.slice(0, -1) : inside;
    if (key.startsWith(ARTIFACT)) throw new MissingTemplateValue('Artifact service is not initialized.');
    if (!NAME.test(key)) return placeholder;
    // Own properties only: an inherited `constructor` is no value of the state.
    const state = states.find((each) => Object.hasOwn(each, key));
    if (state !== undefined) return textOf(state[key]);
    if (optional) return '';
    throw new MissingTemplateValue(
      `Context variable not found: \`${key}\`. Set it in the state, or write {${key}?} in the instruction.`,
    );
  });
}

function textOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}
