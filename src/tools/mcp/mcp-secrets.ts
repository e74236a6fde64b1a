import {
  isNameOfSecret,
  partsOfSecret,
  withoutSecretsIn,
  withoutSecretsInJson,
} from '../../net/removed-secrets.ts';
import { isRecord } from '../../protocol/json.ts';
import { headersOf, type MCPConnectionParams } from './connection-params.ts';

/** Shorter values are no secrets: `true`, `json`, … */
const SHORTEST_SECRET = 8;

type Headers = Readonly<Record<string, string>>;

/** Values that nobody needs to read in an error. `headers`: those of the request, beside those of the params. */
export function secretsOf(params: MCPConnectionParams, headers: Headers = {}): string[] {
  return valuesOf(params, headers, () => true);
}

/** Those of answers: the credential of the call, and what its name calls a secret. An agent works with the others: folders, sites, … */
export function secretsOfAnswers(
  params: MCPConnectionParams,
  headers: Headers,
  credential: Headers,
): string[] {
  return valuesOf(params, headers, isNameOfSecret, Object.values(credential));
}

/** Headers, the query of an address, and variables of a program by their names. Its arguments count if they are named as secrets. */
function valuesOf(
  params: MCPConnectionParams,
  headers: Headers,
  counts: (name: string) => boolean,
  credential: readonly string[] = [],
): string[] {
  const isProgram = params.type === 'StdioConnectionParams';
  const { args = [], env = {} } = isProgram ? params.serverParams : {};
  const sent = isProgram
    ? Object.entries(env)
    : [...Object.entries({ ...headersOf(params), ...headers }), ...new URL(params.url).searchParams];
  const values = sent.filter(([name]) => counts(name)).map(([, value]) => value);
  const options = args.map((arg, index) => {
    const [, name = '', joined = ''] = /^([\w-]+)=(.*)$/s.exec(arg) ?? [];
    if (isNameOfSecret(name)) return joined;
    const [option = ''] = /^-[^=]*$/.exec(args[index - 1] ?? '') ?? [];
    return isNameOfSecret(option) ? arg : '';
  });
  const known = [...credential, ...values, ...options].flatMap(partsOfSecret);
  return known.filter(({ length }) => length >= SHORTEST_SECRET);
}

/** Fields that are sent back to the server as they came. {@link tellsSecret} checks a field before it is recorded. */
const GO_BACK = ['progressToken', 'requestId', 'taskId', 'requestState', 'nextCursor'];

/** Removes secrets from a server's message: a result that is an error may repeat any part of the request. */
export function removeSecrets(
  message: object,
  { fromErrors, fromAnswers }: Record<'fromErrors' | 'fromAnswers', () => readonly string[]>,
): void {
  const { result, error, params } = message as Record<string, unknown>;
  for (const part of [result, error, params].filter(isRecord)) {
    const { isError, status, result: ofTask, task, inputRequests } = part;
    const isFailed = isError === true || status === 'failed' || (isRecord(ofTask) && ofTask.isError === true);
    const secrets = isFailed ? fromErrors() : fromAnswers();
    // Answers are sent back under the keys of their questions, and a task has an id.
    const kept = [task, inputRequests].filter(isRecord);
    for (const fields of [part, ...kept])
      for (const [name, value] of Object.entries(fields)) {
        const isLeft = (GO_BACK.includes(name) && !isRecord(value)) || kept.some((each) => each === value);
        const told = part === error && name === 'message' ? fromErrors() : secrets;
        if (!isLeft) fields[name] = withoutSecretsInJson(value, told);
      }
  }
}

/** Whether something has a secret that it can't be recorded with. */
export function tellsSecret(value: unknown, secrets: readonly string[]): boolean {
  const json = JSON.stringify(value);
  return withoutSecretsIn(json, secrets) !== json;
}
