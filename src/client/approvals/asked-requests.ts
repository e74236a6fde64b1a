import type { StoredEvent } from '../../contract/events.ts';
import type { GateKind } from '../../contract/requests.ts';
import {
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
} from '../../events/request-calls.ts';
import { isRecord } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';

/** A request as its event tells it. */
export interface AskedRequest {
  requestId: string;
  kind: GateKind;
  /** The tool where the event names it, and what it asks. */
  text: string;
}

const KINDS: Readonly<Record<string, GateKind>> = {
  [REQUEST_CONFIRMATION_FUNCTION_CALL_NAME]: 'confirmation',
  [REQUEST_CREDENTIAL_FUNCTION_CALL_NAME]: 'credential',
  [REQUEST_INPUT_FUNCTION_CALL_NAME]: 'input',
};

const ASKS: Readonly<Record<GateKind, string>> = {
  confirmation: 'asks for an approval',
  credential: 'asks for a credential',
  input: 'asks',
};

const LONGEST_TEXT = 400;

/** The requests that an event makes; none for any other event. */
export function askedRequests({ kind: kindOfEvent, event }: StoredEvent): AskedRequest[] {
  if (kindOfEvent !== 'request') return [];
  return (event.content?.parts ?? []).flatMap(({ functionCall }) => {
    const { id, name = '', args = {} } = functionCall ?? {};
    const kind = KINDS[name];
    return id === undefined || kind === undefined ? [] : [{ requestId: id, kind, text: textOf(kind, args) }];
  });
}

/** `asks for an approval: refund: Refund 102 EUR?  rq-…` */
export function askedLine({ requestId, kind, text }: AskedRequest): string {
  return `${ASKS[kind]}${text === '' ? '' : `: ${text}`}  ${requestId}`;
}

function textOf(kind: GateKind, args: Record<string, unknown>): string {
  const words = {
    confirmation: [fieldOf(args.originalFunctionCall, 'name'), fieldOf(args.toolConfirmation, 'hint')],
    credential: [fieldOf(args.auth_config, 'credentialKey')],
    input: [fieldOf(args, 'message')],
  }[kind];
  return visibleExcerpt(words.filter((word) => word !== '').join(': '), LONGEST_TEXT);
}

function fieldOf(value: unknown, name: string): string {
  const field = isRecord(value) ? value[name] : undefined;
  return typeof field === 'string' ? field : '';
}
