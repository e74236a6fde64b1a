import type { AuthConfig } from '../events/event-actions.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { kindOf } from '../schema/kind-of.ts';
import * as option from '../schema/option-kinds.ts';
import { OptionReader, type OptionsFor, readFrom } from '../schema/options.ts';
import { type ApprovalOptions, type ResolvedApproval, resolveApproval } from './approval-options.ts';
import { type WantedCredential, wantedBy } from './call-questions.ts';
import type { Context } from './context.ts';

/** The question to a person: words for people, and JSON that goes with them. */
export interface ConfirmationQuestion {
  /** @default a sentence that names the tool */
  hint?: string;
  /** JSON; the tool gets it back as `toolConfirmation.payload`, unless the decision brings another one. */
  payload?: unknown;
  /**
   * Rules of this call's decision: they replace the tool's `approval`, field by field. Wrong rules keep the call from running.
   *
   * @default the tool's `approval`
   */
  approval?: ApprovalOptions;
}

/**
 * Decides whether a call waits for a person's approval, and words the question. Gets a copy of the arguments, as the tool's own
 * function would get them. Any value but `false` asks; an error keeps the call from running.
 */
export type ConfirmationPredicate<Args> = (
  args: Args,
  toolContext: Context,
) => boolean | ConfirmationQuestion | Promise<boolean | ConfirmationQuestion>;

/** The people and the credential that a tool waits for before it runs. */
export interface GateOptions<Args = Record<string, unknown>> {
  /**
   * Whether calls wait for a person's approval: all of them, or those for which a predicate says so.
   *
   * @default false
   */
  requireConfirmation?: boolean | ConfirmationPredicate<Args>;
  /** Decides in place of `requireConfirmation`. Name: `RequireConfirmationProvider` of adk-go. */
  requireConfirmationProvider?: ConfirmationPredicate<Args>;
  /** The same as `requireConfirmation`, under the name that kadirpekel/hector has for it. */
  requiresApproval?: boolean;
  /**
   * Text that people read about a call, or a function that makes it, unless the gate gives a hint.
   *
   * @default "Please approve or reject the tool call NAME() by responding with a FunctionResponse with an expected
   * ToolConfirmation payload."
   */
  confirmationHint?: string | ((args: Args) => string);
  /** The people who may decide, and the rules of their decision. */
  approval?: ApprovalOptions;
  /**
   * The credential without which the tool doesn't run: `context.credential()`. If none is kept, the call asks for it. With a scheme
   * `oauth2` or `openIdConnect` its tokens come from the app's provider of this `credentialKey`, or as `rawAuthCredential` says.
   */
  authConfig?: AuthConfig;
}

const OF_ARGUMENTS = 'a function of the arguments';

export const GATE = {
  requireConfirmation: option.own(
    (asks) => typeof asks === 'boolean' || typeof asks === 'function',
    `true, false or ${OF_ARGUMENTS}`,
  ),
  requireConfirmationProvider: option.callback(OF_ARGUMENTS),
  requiresApproval: option.flag(),
  confirmationHint: option.custom((hint, read, name) =>
    typeof hint === 'string'
      ? () => hint
      : option.callback<(args: never) => string>(OF_ARGUMENTS)(read, name),
  ),
  approval: option.unchecked(),
  authConfig: option.custom(authConfigOf),
} satisfies OptionsFor<GateOptions<never>>;

/** Checked {@link GateOptions}. */
export interface ToolGate {
  /** Left out where the tool waits for a credential only. */
  readonly confirmation?: {
    readonly when: 'always' | ConfirmationPredicate<never>;
    /** By which option. */
    readonly by: 'flag' | 'predicate' | 'provider';
    readonly hint?: (args: never) => string;
  };
  readonly approval: ResolvedApproval;
  readonly credential?: WantedCredential;
}

/**
 * Checks what a tool's options say of its gate. Looks at no other fields of `options`.
 *
 * @returns undefined for a tool that never waits.
 * @throws DefinitionError naming the option.
 */
export function resolveGate(owner: string, options: object): ToolGate | undefined {
  const read = new OptionReader(owner, options);
  const { confirmationHint: hint, authConfig: credential, ...given } = readFrom(GATE, read);
  const asks = confirmationOf(read, given);
  const approval = resolveApproval(owner, 'approval', given.approval, read.value('sensitive'));
  if (asks === undefined) refuseUnasked(read);
  if (asks === undefined && credential === undefined) return undefined;
  return Object.freeze({
    ...(asks === undefined ? {} : { confirmation: Object.freeze({ ...asks, ...defined({ hint }) }) }),
    approval,
    ...defined({ credential }),
  });
}

type Confirmation = NonNullable<ToolGate['confirmation']>;

function confirmationOf(read: OptionReader, gate: GateOptions<never>): Confirmation | undefined {
  const {
    requireConfirmation: required,
    requiresApproval: alias,
    requireConfirmationProvider: provider,
  } = gate;
  if (required !== undefined && alias !== undefined && required !== alias) {
    read.fail(
      'requiresApproval',
      'contradicts requireConfirmation, which is the same option: keep one of them',
    );
  }
  if (provider !== undefined) return { when: provider, by: 'provider' };
  if (typeof required === 'function') return { when: required, by: 'predicate' };
  return (required ?? alias) ? { when: 'always', by: 'flag' } : undefined;
}

/** Options of a question that is never asked would promise what doesn't happen. */
function refuseUnasked(read: OptionReader): void {
  for (const name of ['approval', 'confirmationHint'] as const) {
    if (!read.given(name)) continue;
    read.fail(
      name,
      'the tool never asks before it runs: set requireConfirmation: true or a function of the arguments, or leave ' +
        `${name} out. For a tool that asks only while it runs: requireConfirmation: () => false`,
    );
  }
}

function authConfigOf(value: unknown, read: OptionReader): WantedCredential {
  if (!isRecord(value)) return read.fail('authConfig', `expected an object, got ${kindOf(value)}`);
  const { credentialKey, authScheme } = value;
  if (credentialKey === undefined || credentialKey === '') {
    return read.fail('authConfig.credentialKey', 'required: the name under which the credential is kept');
  }
  if (typeof credentialKey !== 'string') {
    return read.fail('authConfig.credentialKey', `expected a string, got ${kindOf(credentialKey)}`);
  }
  if (!isRecord(authScheme)) {
    const wanted = `expected a security scheme of OpenAPI, like { type: 'http', scheme: 'bearer' }`;
    return read.fail('authConfig.authScheme', `${wanted}, got ${kindOf(authScheme)}`);
  }
  return wantedBy(read.owner, value as unknown as AuthConfig);
}
