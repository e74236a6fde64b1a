import { isResultSensitive } from '../../approvals/sensitive.ts';
import { responseProblem } from '../../contract/approvals.ts';
import { CREDENTIAL_REF } from '../../contract/decision-limits.ts';
import { MOST_LISTED, REQUEST_ANSWERS } from '../../contract/lists.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { AuthCredential, OAuth2Auth } from '../../events/auth-credential.ts';
import type { Content } from '../../events/content.ts';
import { wayBackOf } from '../../oauth/auth-handler.ts';
import { finishConsent, flowOf } from '../../oauth/consent.ts';
import { oauthFailed } from '../../oauth/oauth-failed.ts';
import { scopesOf } from '../../oauth/oauth-provider.ts';
import { covers } from '../../oauth/tokens.ts';
import { isRecord } from '../../protocol/json.ts';
import { inputReplyOf } from '../../protocol/replies.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { answeredRequest } from '../approvals/find-request.ts';
import { sealedInput } from '../approvals/seal-decision.ts';
import type { ClientContext } from '../client-context.ts';
import { InvalidTurn, RequestNotFound, RequestNotPending } from '../client-errors.ts';
import { connectionsOf } from '../credentials/credential-handlers.ts';
import { storeOf } from '../stored-context.ts';
import {
  isSameReply,
  RESERVED_NAMES,
  type ReplyPart,
  replyParts,
  unwrappedResponse,
  withResponses,
} from './reply-parts.ts';

const METHOD = 'sendMessage';

/** A message whose answers are by the names of requests, and whose credentials are in the store: what travels refers to them. */
export async function sealedReplies<Message extends string | Content>(
  context: ClientContext,
  session: SessionNames,
  given: Message,
): Promise<Message | Content> {
  if (typeof given === 'string') return given;
  refuseUnaskedSecrets(given);
  const message = await namedReplies(context, session, given);
  const sealed = new Map<number, Record<string, unknown>>();
  for (const { index, id, kind, response } of replyParts(message)) {
    const row = await answeredRequest(context.store, session, id);
    const field = `message.parts[${index}].functionResponse.response`;
    if (row?.kind === 'input') refuseResponse(field, response);
    if (row?.kind === 'input' && isResultSensitive(row.sensitive)) {
      sealed.set(index, await sealedAnswer(context, row, { index, id, kind, response }));
      continue;
    }
    if (kind !== 'credential' && row?.kind !== 'credential' && !hasSecret(response)) continue;
    sealed.set(index, { credentialRef: await refOf(context, session, { field, id, row, response }) });
  }
  return withResponses(message, sealed);
}

/** Refuses an invalid answer before anything is stored. @throws InvalidTurn */
function refuseResponse(field: string, response: Record<string, unknown>): void {
  const problem = responseProblem(inputReplyOf(response).response);
  if (problem !== undefined) throw new InvalidTurn(`${METHOD}: ${field}: ${problem}`);
}

/** A repeated answer is recognised by its reference. */
async function sealedAnswer(
  context: ClientContext,
  row: ApprovalRow,
  part: ReplyPart,
): Promise<Record<string, unknown>> {
  const { requestId, status, responseRef } = row;
  if (status === 'pending') return { ...(await sealedInput(context, row, inputReplyOf(part.response))) };
  if (responseRef !== undefined && isSameReply(part, row)) return { responseRef };
  throw new RequestNotPending(`${METHOD}: ${requestId} was ${status}: the answer is not kept`, {
    details: { request: { requestId, status } },
  });
}

interface CredentialReply {
  field: string;
  id: string | undefined;
  row: ApprovalRow | undefined;
  response: Record<string, unknown>;
}

async function refOf(
  context: ClientContext,
  session: SessionNames,
  { field, id, row, response }: CredentialReply,
): Promise<string> {
  const given = camelCased(unwrappedResponse(response));
  if (!isRecord(given)) throw invalid(field);
  const { credentialRef, exchangedAuthCredential, rawAuthCredential } = given;
  const credential = exchangedAuthCredential ?? rawAuthCredential;
  if (credential === undefined) {
    if (typeof credentialRef === 'string' && CREDENTIAL_REF.test(credentialRef)) return credentialRef;
    throw invalid(field);
  }
  if (row !== undefined && row.status !== 'pending') {
    throw new RequestNotPending(`${METHOD}: ${row.requestId} was ${row.status}: the credential is not kept`, {
      details: { request: { requestId: row.requestId, status: row.status } },
    });
  }
  if (row === undefined && context.store !== undefined) {
    throw new RequestNotFound(`${METHOD}: ${field}: there is no request ${id ?? 'without an id'}`);
  }
  const { app, userId } = session;
  const back = wayBackOf(oauth2In(credential), oauth2In(row?.authConfig?.exchangedAuthCredential));
  if (back !== undefined && row !== undefined) return await consentedRef(context, session, row, back);
  const credentialKey = row?.authConfig?.credentialKey ?? given.credentialKey;
  const stored = await connectionsOf(context, METHOD).vault.put({
    app,
    userId,
    credentialKey: credentialKey as string,
    credential: credential as AuthCredential,
  });
  return stored.credentialRef;
}

/** The answer of a client of ADK that has shown a person the server's page itself: neither code nor tokens go on from here. */
async function consentedRef(
  context: ClientContext,
  { app, userId }: SessionNames,
  { authConfig, since }: ApprovalRow,
  { fields, redirectUri }: NonNullable<ReturnType<typeof wayBackOf>>,
): Promise<string> {
  const { state } = oauth2In(authConfig?.exchangedAuthCredential);
  const connections = connectionsOf(context, METHOD);
  // Each request has a state of its own, which has its user and the key of its credential, sealed.
  const flow = state === undefined ? undefined : flowOf(connections, state);
  const isOwn = flow?.app === app && flow.userId === userId && fields.get('state') === state;
  if (authConfig === undefined || flow === undefined || !isOwn)
    throw oauthFailed('invalid', 'the state of this way back is none of the request: open its authUri again');
  const store = storeOf(context, METHOD);
  const kept = await store.credentials.find({ app, userId, credentialKey: authConfig.credentialKey });
  // Sent again after a failure that came after the exchange: its code was used.
  const isNew = kept !== undefined && kept.createdAt >= since && covers(kept.scopes, scopesOf(authConfig));
  if (isNew && fields.has('code')) return kept.credentialRef;
  const by = { now: await store.now(), redirectUri };
  return (await finishConsent(connections, flow, fields, by)).credentialRef;
}

/** A response of another name may answer a request by the id of its call; a secret in it has no business in a history either. */
function refuseUnaskedSecrets(message: Content): void {
  const replies = new Set(replyParts(message).map(({ index }) => index));
  for (const [index, { functionResponse }] of (message.parts ?? []).entries()) {
    if (replies.has(index) || !hasSecret(functionResponse?.response)) continue;
    throw new InvalidTurn(
      `${METHOD}: message.parts[${index}].functionResponse: a credential answers a request under the name adk_request_credential`,
    );
  }
}

function hasSecret(response: unknown): boolean {
  if (!isRecord(response)) return false;
  const given = camelCased(unwrappedResponse(response));
  return isRecord(given) && (isRecord(given.exchangedAuthCredential) || isRecord(given.rawAuthCredential));
}

/** ADK's clients in Python write `exchanged_auth_credential`, and null for each field that is not there. */
function camelCased(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const given = Object.entries(value).filter(([, field]) => field !== null);
  const entries = given.map(([name, field]) => [
    name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase()),
    camelCased(field),
  ]);
  return Object.fromEntries(entries);
}

function oauth2In(credential: unknown): OAuth2Auth {
  const { oauth2 } = Object(credential);
  return isRecord(oauth2) ? oauth2 : {};
}

/** Never with the value, which may be a secret. */
function invalid(field: string): InvalidTurn {
  return new InvalidTurn(
    `${METHOD}: ${field}: expected an AuthConfig with exchangedAuthCredential or rawAuthCredential, or { credentialRef }`,
  );
}

/**
 * A message whose responses to calls that wait for people are answers to what those calls ask: the turn that waits takes them as such,
 * so that no turn of their own may begin with them, and no secret may travel in them. So is what such a request was answered with
 * before, which is sent again.
 */
async function namedReplies(
  { store }: ClientContext,
  session: SessionNames,
  message: Content,
): Promise<Content> {
  if (store === undefined) return message;
  const { parts = [] } = message;
  const replies = new Set(replyParts(message).map(({ index }) => index));
  const isOfCall = (index: number) => parts[index]?.functionResponse?.id !== undefined && !replies.has(index);
  if (!parts.some((_part, index) => isOfCall(index))) return message;
  const pending = await store.approvals.list({ ...session, limit: MOST_LISTED });
  const isWaitedFor = (id: string | undefined) => pending.some(({ callId }) => callId === id);
  const isAnswered = parts.some(
    ({ functionResponse }, index) => isOfCall(index) && !isWaitedFor(functionResponse?.id),
  );
  const answered = isAnswered
    ? await store.approvals.list({ ...session, status: REQUEST_ANSWERS, order: 'newest', limit: MOST_LISTED })
    : [];
  const named = parts.map((part, index) => {
    if (!isOfCall(index)) return part;
    const { functionResponse } = part;
    const ofCall = ({ callId }: ApprovalRow) => callId === functionResponse?.id;
    const [waiting, ...others] = pending.filter(ofCall);
    const latest = waiting ?? answered.find(ofCall);
    const said = { index, id: undefined, kind: undefined, response: functionResponse?.response ?? {} };
    const row =
      latest !== undefined && (latest === waiting || isSameReply(said, latest)) ? latest : undefined;
    if (row === undefined || others.length > 0) return part;
    const { requestId: id, kind } = row;
    return { ...part, functionResponse: { ...functionResponse, id, name: RESERVED_NAMES[kind] } };
  });
  return { ...message, parts: named };
}
