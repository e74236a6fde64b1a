import { defined } from '../../protocol/json.ts';
import { excerpt } from '../../protocol/visible-text.ts';
import { kindOf } from '../../schema/kind-of.ts';
import * as option from '../../schema/option-kinds.ts';
import { type OptionReader, type OptionsFor, readGroup } from '../../schema/options.ts';
import type { ApprovalOptions } from '../approval-options.ts';
import { FunctionTool } from '../function-tool.ts';

/** Options of {@link approvalTool}. Fields: `approvaltool.Config` of kadirpekel/hector, and who decides. */
export interface ApprovalToolOptions {
  /**
   * Name of the tool for the model.
   *
   * @default 'request_approval'
   */
  name?: string;
  /** Tells the model when to ask. */
  description?: string;
  /** Names of further text arguments that the model must give, beside `action` and `reason`. */
  requiredFields?: readonly string[];
  /** The people who may decide, and the rules of their decision. */
  approval?: ApprovalOptions;
}

const LONGEST_QUOTE = 500;

const APPROVAL_TOOL = {
  name: option.unchecked(),
  description: option.unchecked(),
  requiredFields: option.custom(fieldNames, []),
  approval: option.unchecked(),
} satisfies OptionsFor<ApprovalToolOptions>;

/**
 * A tool by which a model asks a person to approve its next action. Each call waits: an approval answers it with
 * `{ status: 'approved' }` and the person's additions, a rejection with the error of all rejected calls. It lets nothing else
 * pass: tools that must not run without an approval say so themselves, by `requireConfirmation`. Arguments: `approvaltool` of
 * kadirpekel/hector.
 *
 * @throws DefinitionError naming the option.
 * @example
 * new LlmAgent({
 *   name: 'operator',
 *   model: 'gemini-2.5-flash',
 *   tools: [approvalTool({ approval: { approvers: ['mira'], expiresIn: '2 hours' } })],
 * });
 */
export function approvalTool(options: ApprovalToolOptions = {}): FunctionTool {
  const chosen = readGroup(APPROVAL_TOOL, { owner: 'approvalTool', options });
  const { name = 'request_approval', description = DESCRIPTION, requiredFields, approval } = chosen;
  return new FunctionTool({
    name,
    trusted: true,
    description,
    parameters: parametersWith(requiredFields),
    requiresApproval: true,
    ...defined({ approval }),
    confirmationHint: ({ action, reason }) =>
      `An agent asks for an approval. The action, in its words: ${quoted(action)}. The reason, in its words: ${quoted(reason)}.`,
    execute: ({ action }, { toolConfirmation }) => ({
      status: 'approved',
      action,
      ...(toolConfirmation?.payload === undefined ? {} : { payload: toolConfirmation.payload }),
    }),
  }) as FunctionTool;
}

const DESCRIPTION =
  'Asks a person for approval, and waits for it. Use it before you take an action of high risk, or where you need an explicit ' +
  'yes. An error says that the approval was denied: do not take the action then.';

function parametersWith(requiredFields: readonly string[]) {
  const own = requiredFields.filter((field) => !['action', 'reason', 'details'].includes(field));
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(
        own.map((field) => [field, { type: 'string', description: `Required field: ${field}` }]),
      ),
      action: { type: 'string', description: 'The action requiring approval' },
      reason: { type: 'string', description: 'Why approval is needed' },
      details: { type: 'object', description: 'Additional details for the approver' },
    },
    required: [...new Set(['action', 'reason', ...requiredFields])],
  };
}

function fieldNames(names: unknown, read: OptionReader, field: string): readonly string[] {
  if (!Array.isArray(names)) return read.fail(field, `expected a list of names, got ${kindOf(names)}`);
  for (const [index, name] of names.entries()) {
    if (typeof name === 'string' && name !== '') continue;
    const got = name === '' ? "''" : kindOf(name);
    read.fail(`${field}[${index}]`, `expected the name of an argument, got ${got}`);
  }
  return names;
}

/** As JSON, so that nothing in it passes for words of ours. */
function quoted(text: unknown): string {
  return JSON.stringify(excerpt(String(text), LONGEST_QUOTE));
}
