import { z } from 'zod';
import type { HoldfastApi } from '../../src/client/holdfast-api.ts';
import type { StoredApi } from '../../src/client/stored-api.ts';
import type { ErrorCode } from '../../src/contract/error-codes.ts';
import type { InputOf, Noun, Operation, OperationsOf } from '../../src/contract/operation.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import type { ContractScene } from './contract-scene.ts';

/** A client, by whichever way it performs operations. */
export type Api = HoldfastApi & StoredApi;

/** The options of a method in which its caller says who it is. */
export interface Speaker {
  token?: string;
}

/** An operation that is refused, or finds nothing. */
export interface Refusal<Of extends Operation> {
  /** Changes the row's own input, or what it is about. */
  given(scene: ContractScene, input: InputOf<Of>): Promise<object> | object;
  /** The command's exit code, if the command can be told to do so. */
  exit?: 1 | 2;
}

/** The file of `test` that shows an error which takes more than an input. */
type ShownIn = `${string}.ts`;

/** Codes that a contract names. */
type CodesOf<Of extends Operation> =
  | (Of extends { errors: readonly (infer Code)[] } ? Code : never)
  | (Of extends { absent: infer Code } ? Code : never)
  | (Of extends { refused: { error: infer Code } } ? Code : never);

/** How an operation is shown by all ways. */
export interface OperationRow<Of extends Operation> {
  /** Makes what it is about, for a write anew by each way, and gives its input with all optional fields. */
  given(scene: ContractScene): Promise<InputOf<Of>>;
  /** Optional fields that don't go with the others, or take more than an input; and where they are shown. */
  without?: { readonly [Field in keyof InputOf<Of>]?: ShownIn };
  /** Optional fields that are not seen in an answer. */
  unseen?: readonly (keyof InputOf<Of>)[];
  /** Asks by the method; the answer is the contract's. */
  ask(api: Api, input: InputOf<Of>, speaker: Speaker): Promise<unknown>;
  /** The least that the answer has. */
  answer: unknown;
  /** The thing that is there afterwards. */
  done?(scene: ContractScene, input: InputOf<Of>, isByCommand: boolean): Promise<void>;
  /** The words of the command. */
  command?(input: InputOf<Of>): readonly string[];
  /** The contract's answer from what the command prints, where that differs. */
  printed?(json: never, input: InputOf<Of>): unknown;
  errors: { readonly [Code in ErrorCode]?: Refusal<Of> | ShownIn } & {
    readonly [Code in CodesOf<Of> & ErrorCode]: Refusal<Of> | ShownIn;
  };
}

/** A worker is up: on a slow machine the default of 5 s is none that a test may rest on. */
export const timeout = 60_000;

/** A session as commands name it. */
export function pathOf({ app, userId, sessionId }: SessionNames): string {
  return [app, userId, sessionId].map(encodeURIComponent).join('/');
}

type Each<Of extends Noun> = {
  [Method in keyof Of]: Of[Method] extends readonly (infer Route)[] ? Route : Of[Method];
}[keyof Of];

/** A row for each operation of a noun, by its id: a missing one doesn't compile. */
export type RowsOf<Of extends Noun> = {
  readonly [Id in OperationsOf<Of>['id']]: Extract<Each<Of>, { id: Id }> extends infer One extends Operation
    ? OperationRow<One>
    : never;
};

/** Times and ids that each arrangement has of its own. */
const OWN: readonly [RegExp, string][] = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID'],
  [/\b[0-9a-f]{64}\b/g, 'DIGEST'],
  [/\b(job|cr|ri|adk|call)-[\w-]{16,}/g, '$1-ID'],
  [/\be-[\w-]{8,}/g, 'e-ID'],
  [/:1[0-9]{12}(\.\d+)?\b/g, ':0'],
  [
    /"(id|session|argsDigest|gateDigest|since|until|timestamp|createdAt|updatedAt|expiresAt|totalTokens|promptTokens)":("[^"]*"|[\d.]+)/g,
    '"$1":0',
  ],
  [/\/connect\/[\w.-]+/g, '/connect/0'],
];

/** An answer without what each arrangement has of its own. */
export function comparable(answer: unknown): unknown {
  if (answer === undefined) return undefined;
  const text = OWN.reduce((json, [own, name]) => json.replaceAll(own, name), JSON.stringify(answer));
  return JSON.parse(text);
}

export function fieldsOf({ input }: Operation): { required: string[]; optional: string[] } {
  const fields = Object.entries(input.shape as Record<string, z.ZodType>);
  const named = (isOptional: boolean) =>
    fields.filter(([, schema]) => isOptional === schema instanceof z.ZodOptional).map(([name]) => name);
  return { required: named(false), optional: named(true) };
}
