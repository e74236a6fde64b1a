import { webhookSecret } from '../../net/signatures.ts';
import { isRecord } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { assertKnownFields } from '../../schema/known-fields.ts';
import { problemOfName } from '../../schema/person-name.ts';
import type { WebhookSource, WebhookSources } from './options.ts';
import { WebhookNotReady } from './webhook-not-ready.ts';

const NAME = /^[a-z\d][a-z\d_-]{0,63}$/;
const FIELDS = ['secrets', 'verify', 'persons', 'handle'] satisfies (keyof WebhookSource)[];

/** Whether a source may have this name. */
export function isSourceName(name: string): boolean {
  return NAME.test(name);
}

/** @throws DefinitionError naming the option, and never quoting a secret. */
export function checkSources(owner: string, sources: unknown): void {
  const fail = (field: string, problem: string): never => {
    throw new DefinitionError({ owner, field, problem });
  };
  if (!isRecord(sources)) fail('webhooks', `expected sources by name, got ${kindOf(sources)}`);
  for (const [name, source] of Object.entries(sources as Record<string, unknown>)) {
    const field = `webhooks[${JSON.stringify(name)}]`;
    if (!isSourceName(name)) fail(field, 'expected a name of lower case letters, digits, - and _');
    assertKnownFields(owner, source, FIELDS, { field });
    const { secrets, verify = 'standard', persons = [], handle } = source as Record<string, unknown>;
    if (typeof handle !== 'function') fail(`${field}.handle`, `expected a function, got ${kindOf(handle)}`);
    if (verify !== 'standard' && typeof verify !== 'function') {
      fail(`${field}.verify`, `expected 'standard' or a function, got ${kindOf(verify)}`);
    }
    const areNeeded = verify === 'standard' || secrets !== undefined;
    if (areNeeded && typeof secrets !== 'function') {
      const problem = problemOfSecrets(secrets);
      if (problem !== undefined) fail(`${field}.secrets`, problem);
    }
    if (!Array.isArray(persons)) fail(`${field}.persons`, `expected a list, got ${kindOf(persons)}`);
    for (const [index, person] of (persons as unknown[]).entries()) {
      const problem = problemOfName(person);
      if (problem !== undefined) fail(`${field}.persons[${index}]`, problem);
    }
  }
}

/**
 * Asks for secrets that only a function knows: without them, or with an empty one, anybody could sign.
 *
 * @throws DefinitionError naming the source, and never quoting a secret.
 */
export function checkGivenSecrets(owner: string, sources: WebhookSources): void {
  for (const [name, { secrets }] of Object.entries(sources)) {
    const problem = typeof secrets === 'function' ? problemOfSecretsNow(secrets) : undefined;
    if (problem === undefined) continue;
    throw new DefinitionError({ owner, field: `webhooks[${JSON.stringify(name)}].secrets`, problem });
  }
}

/** Where they can't be known now, each delivery asks again. */
function problemOfSecretsNow(secrets: () => unknown): string | undefined {
  try {
    return problemOfSecrets(secrets());
  } catch (error) {
    if (error instanceof WebhookNotReady) return undefined;
    throw error;
  }
}

/** The reason why these are no secrets; it quotes none of them. */
function problemOfSecrets(secrets: unknown): string | undefined {
  const all: unknown[] = Array.isArray(secrets) ? secrets : [secrets];
  if (all.length === 0 || all.some((secret) => typeof secret !== 'string')) {
    return `expected a secret, or a list of them, got ${kindOf(all.find((secret) => typeof secret !== 'string') ?? secrets)}`;
  }
  try {
    for (const secret of all) webhookSecret(String(secret));
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}
