import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { visibleText } from './visible-text.ts';

const LONGEST_PART = 64;
const KEPT_OF_A_LONG_PART = 40;
const DIGEST_CHARACTERS = 22;
const LONGEST_NAME_IN_KEY = 32;
const TURN_OF_SESSION = /^e-[\w-]{22}$/;
const RUN_KEY = /^[\w-]{1,32}-[\w-]{22}$/;
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** The first 22 characters of the base64url SHA-256 of `text`: 132 bits. */
export function shortDigest(text: string): string {
  return sha256Digest(text).slice(0, DIGEST_CHARACTERS);
}

/** Undefined in the workflow sandbox, which has no `process`. */
const crypto = globalThis.process?.getBuiltinModule?.('node:crypto');

/** SHA-256 of `text`, base64url. */
export function sha256Digest(text: string): string {
  if (crypto === undefined) return sandboxDigest(text);
  return crypto.hash('sha256', text, 'base64url');
}

/** {@link sha256Digest} without Node's crypto. */
export function sandboxDigest(text: string): string {
  const bytes = sha256(utf8ToBytes(text));
  let characters = '';
  for (let bit = 0; bit < bytes.length * 8; bit += 6) {
    const word = ((bytes[bit >> 3] ?? 0) << 8) | (bytes[(bit >> 3) + 1] ?? 0);
    characters += BASE64URL[(word >> (10 - (bit & 7))) & 63];
  }
  return characters;
}

/**
 * Workflow id of a session's turns: `<app>/<user>/<session>`, each part URI-encoded. A part over 64 characters
 * becomes its first 40, `~` and 22 of its SHA-256; `~` itself is encoded, so that no id can pose as another's
 * short form.
 *
 * @throws URIError where a part is not well-formed Unicode.
 */
export function workflowIdOf(app: string, userId: string, sessionId: string): string {
  return [app, userId, sessionId].map(workflowIdPart).join('/');
}

function workflowIdPart(part: string): string {
  const encoded = encodeURIComponent(part).replaceAll('~', '%7E');
  if (encoded.length <= LONGEST_PART) return encoded;
  return `${encoded.slice(0, KEPT_OF_A_LONG_PART)}~${shortDigest(part)}`;
}

/**
 * Temporal's fairness key of a user's tasks: `<app>/<user>`, URI-encoded as in workflow ids. Temporal takes at most 64 bytes: a
 * longer one is its first 40, `~` and 22 of the SHA-256.
 *
 * @throws URIError where a part is not well-formed Unicode.
 */
export function fairnessKeyOf(app: string, userId: string): string {
  const key = [app, userId].map((part) => encodeURIComponent(part).replaceAll('~', '%7E')).join('/');
  if (key.length <= LONGEST_PART) return key;
  return `${key.slice(0, KEPT_OF_A_LONG_PART)}~${shortDigest(key)}`;
}

/** Summary of a turn's workflow in the Temporal UI, beside its id: `support · s-1`, short and on one line. */
export function turnSummary({
  app,
  sessionId,
  agent = app,
}: {
  app: string;
  sessionId: string;
  agent?: string | undefined;
}): string {
  return visibleText(`${agent.slice(0, 60)} · ${sessionId.slice(0, 60)}`.toWellFormed()).slice(0, 200);
}

/** Invocation id of a message: the same message id is the same invocation, for ever. */
export function invocationIdOf(app: string, userId: string, sessionId: string, messageId: string): string {
  return `e-${shortDigest(JSON.stringify([app, userId, sessionId, messageId]))}`;
}

/** Invocation id of a retry: `generation` counts the retries of `invocationId`, from 1. */
export function retryIdOf(invocationId: string, generation: number): string {
  return `e-${shortDigest(JSON.stringify([invocationId, generation]))}`;
}

/**
 * Run key of the agent that a call runs. `attempt` counts the runs of that call, from 1.
 */
export function runKeyOfCall(
  parentRunKey: string,
  callKey: string,
  { agent, attempt = 1 }: { agent: string; attempt?: number },
): string {
  return childRunKey(agent, attempt === 1 ? [parentRunKey, callKey] : [parentRunKey, callKey, attempt]);
}

/** Run key of an agent that a workflow agent runs: by the step that has planned it, its place in the plan, and the round of a loop. */
export function runKeyOfAgent(
  parentRunKey: string,
  { agent, step, index, iteration = 1 }: { agent: string; step: number; index: number; iteration?: number },
): string {
  return childRunKey(agent, [parentRunKey, 'agent', step, iteration, index]);
}

/** Begins with the agent's name: lists of workflows show little else. One that is named `e` is no turn of a session. */
function childRunKey(agent: string, place: readonly (string | number)[]): string {
  const name = agent.replaceAll(/[^\w-]/gu, '_').slice(0, LONGEST_NAME_IN_KEY);
  return `${name === 'e' ? 'e_' : name}-${shortDigest(JSON.stringify(place))}`;
}

/** Workflow id that the session of an invocation has, or would have: an agent that a call runs has one of its own. */
export function sessionOfInvocation(
  { app, userId, rootWorkflowId }: { app: string; userId: string; rootWorkflowId: string },
  invocationId: string,
): string {
  return TURN_OF_SESSION.test(invocationId) ? rootWorkflowId : workflowIdOf(app, userId, invocationId);
}

/** Whether it could be that of a run: it is made part of a workflow's id. */
export function isRunKey(text: string): boolean {
  return RUN_KEY.test(text);
}

/** Id of the workflow of any agent below a turn's root, at any depth. */
export function childWorkflowIdOf(rootWorkflowId: string, runKey: string): string {
  return `${rootWorkflowId}/${runKey}`;
}

export function runKeyOfCallKey(callKey: string): string {
  return callKey.split('.', 1)[0] ?? '';
}

export function stepKeyOf(runKey: string, step: number): string {
  return `${runKey}.${step}`;
}

export function callKeyOf(runKey: string, step: number, index: number): string {
  return `${runKey}.${step}.${index}`;
}

/** Prefix of function call ids that the model did not give; ADK's. They are removed from requests again. */
export const OWN_CALL_ID_PREFIX = 'adk-';

export function ownCallId(callKey: string): string {
  return `${OWN_CALL_ID_PREFIX}${callKey}`;
}

/** The call key in an id that Holdfast has given to a call; models may give no id. */
export function callKeyOfId(id: string): string | undefined {
  return id.startsWith(OWN_CALL_ID_PREFIX) ? id.slice(OWN_CALL_ID_PREFIX.length) : undefined;
}

/**
 * Id of the job of a call: the same in every attempt of it. It can't be guessed, as `session` is the store's random id. The job's
 * token proves the right to end it.
 */
export function jobIdOf(session: string, callKey: string): string {
  return `job-${shortDigest(JSON.stringify([session, callKey]))}`;
}

/** Id of the workflow of a job that outlives its turn. */
export function jobWorkflowIdOf(turnWorkflowId: string, callKey: string): string {
  return `${turnWorkflowId}/job/${callKey}`;
}

const CALL_KEY = /^(.+)\.(\d+)\.(\d+)$/s;

/** Where a call stands, read from its key. */
export interface CallPlace {
  runKey: string;
  step: number;
  index: number;
}

/** @throws TypeError where `callKey` isn't `<run key>.<step>.<index>`. */
export function placeOfCall(callKey: string): CallPlace {
  const place = placeOfKey(callKey);
  if (place === undefined) throw new TypeError(`callKey: ${JSON.stringify(callKey)} is no call's key`);
  return place;
}

/** The place that a key names; undefined where it is no call's. */
export function placeOfKey(callKey: string): CallPlace | undefined {
  const [, runKey, step, index] = CALL_KEY.exec(callKey) ?? [];
  return runKey === undefined ? undefined : { runKey, step: Number(step), index: Number(index) };
}

/** A call's step and index, as people are shown it; its run is clear from where it is shown. */
export function shortCallKey(callKey: string): string {
  return callKey.split('.').slice(-2).join('.');
}
