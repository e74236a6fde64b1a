import { isSensitive, type Sensitive } from '../approvals/sensitive.ts';
import { LONGEST_REASON } from '../contract/decision-limits.ts';
import { isRecord } from '../protocol/json.ts';
import { visibleJson, visibleText } from '../protocol/visible-text.ts';
import { type Block, type InputBlock, type ModalView, plain } from './block-kit.ts';
import { slackText } from './slack-text.ts';

/** Ids by which modals come back. */
export const MODALS = { reject: 'holdfast.reject', edit: 'holdfast.edit' } as const;

/** Which request a modal is about, and where its message stands. */
export interface ModalSubject {
  requestId: string;
  channel: string;
  ts: string;
}

/** Values of a modal, by blocks and their inputs. */
export type ModalValues = Readonly<
  Record<string, Readonly<Record<string, { value?: string | null | undefined }>>>
>;

interface EditedRequest {
  tool: string;
  args: Readonly<Record<string, unknown>>;
  sensitive: Sensitive;
}

const INPUT = 'value';
const REASON = 'reason';
/** Slack's most for an input. */
const LONGEST_INPUT = 3_000;
const LONGEST_TITLE = 150;
const MOST_FIELDS = 60;

export function rejectModal(subject: ModalSubject, { tool }: { tool: string }): ModalView {
  return {
    ...shellOf(MODALS.reject, subject, 'Reject', 'Reject'),
    blocks: [
      { type: 'section', text: plain(`Reject ${slackText(tool, LONGEST_TITLE)}`) },
      {
        type: 'input',
        block_id: REASON,
        optional: true,
        label: plain('Reason, for the agent'),
        element: { type: 'plain_text_input', action_id: INPUT, multiline: true, max_length: LONGEST_REASON },
      },
    ],
  };
}

/** The reason that was given; undefined for none. */
export function readReason(values: ModalValues): string | undefined {
  const reason = values[REASON]?.[INPUT]?.value ?? '';
  return reason.trim() === '' ? undefined : reason;
}

/** An input for each argument that fits; undefined where there is none. */
export function editModal(subject: ModalSubject, request: EditedRequest): ModalView | undefined {
  const fields = fieldsOf(request);
  const shown = fields.filter(({ initial }) => initial !== undefined).slice(0, MOST_FIELDS);
  if (shown.length === 0) return undefined;
  const left = Object.keys(request.args).length - shown.length;
  const blocks: Block[] = [
    {
      type: 'section',
      text: plain(`${slackText(request.tool, LONGEST_TITLE)} runs with these arguments.`),
    },
    ...shown.map(
      ({ name, id, kind, initial = '' }): InputBlock => ({
        type: 'input',
        block_id: id,
        optional: kind === 'text',
        label: plain(`${slackText(name.trim() === '' ? JSON.stringify(name) : name, LONGEST_TITLE)}`),
        ...(kind === 'json' ? { hint: plain('JSON') } : {}),
        element: {
          type: 'plain_text_input',
          action_id: INPUT,
          multiline: true,
          max_length: LONGEST_INPUT,
          ...(initial === '' ? {} : { initial_value: initial }),
        },
      }),
    ),
    ...(left === 0
      ? []
      : [
          {
            type: 'section' as const,
            text: plain('Arguments that are sensitive, or too long for Slack, stay as they are.'),
          },
        ]),
  ];
  return { ...shellOf(MODALS.edit, subject, 'Edit', 'Approve edited'), blocks };
}

/** Problems of inputs, by their blocks; needs only the sent values. */
export function editProblems(values: ModalValues): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const [id, inputs] of Object.entries(values)) {
    if (id.startsWith('json:') && !('value' in parsed(inputs[INPUT]?.value ?? ''))) {
      problems[id] = 'Expected JSON, as "text", 12 or true';
    }
  }
  return problems;
}

/** All arguments that a decision carries, sensitive ones left out; undefined where nothing was changed. */
export function readEdit(values: ModalValues, request: EditedRequest): Record<string, unknown> | undefined {
  let isChanged = false;
  const args: [string, unknown][] = [];
  for (const { name, id, kind, initial, value } of fieldsOf(request)) {
    const sent = values[id]?.[INPUT];
    const text = sent === undefined ? initial : (sent.value ?? '');
    // An untouched field keeps its value, also if the form changes its text.
    if (text === undefined || text === initial) {
      args.push([name, value]);
      continue;
    }
    const read = kind === 'text' ? { value: text } : parsed(text);
    if (!('value' in read)) return undefined;
    isChanged = true;
    args.push([name, read.value]);
  }
  return isChanged ? Object.fromEntries(args) : undefined;
}

/** Undefined for what no modal of these has carried. */
export function readSubject(metadata: string): ModalSubject | undefined {
  let value: unknown;
  try {
    value = JSON.parse(metadata);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { requestId, channel, ts } = value;
  const isWhole = typeof requestId === 'string' && typeof channel === 'string' && typeof ts === 'string';
  return isWhole ? { requestId, channel, ts } : undefined;
}

interface Field {
  name: string;
  id: string;
  kind: 'text' | 'json';
  /** Undefined where it is too long for an input. */
  initial: string | undefined;
  value: unknown;
}

/** The same for the same request, however often it is asked: its arguments don't change. */
function fieldsOf({ args, sensitive }: EditedRequest): Field[] {
  return Object.keys(args)
    .filter((name) => !isSensitive(sensitive, name))
    .toSorted()
    .map((name, index) => {
      const value = args[name];
      const kind = typeof value === 'string' && isPlain(value) ? 'text' : 'json';
      const text = kind === 'text' ? String(value) : visibleJson(value);
      const initial = text.length > LONGEST_INPUT ? undefined : text;
      return { name, id: `${kind}:${index}`, kind, initial, value };
    });
}

/** An input shows all of it. */
function isPlain(text: string): boolean {
  return text.split('\n').every((line) => visibleText(line) === line);
}

function parsed(text: string): { value: unknown } | { problem: true } {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { problem: true };
  }
}

function shellOf(
  id: string,
  { requestId, channel, ts }: ModalSubject,
  title: string,
  submit: string,
): Omit<ModalView, 'blocks'> {
  return {
    type: 'modal',
    callback_id: id,
    private_metadata: JSON.stringify({ requestId, channel, ts }),
    title: plain(title),
    submit: plain(submit),
    close: plain('Back'),
  };
}
