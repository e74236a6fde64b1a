import { isGrpcServiceError } from '@temporalio/client';
import { isStoreAway } from '../../store/store-errors.ts';
import type { ClientContext } from '../client-context.ts';
import { type Delivery, deliver } from './deliver.ts';
import type { OutgoingTurn } from './outgoing-turn.ts';

/**
 * gRPC's INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION, UNIMPLEMENTED and UNAUTHENTICATED: the server
 * has taken nothing.
 */
const REFUSALS: ReadonlySet<number> = new Set([3, 5, 7, 9, 12, 16]);

/**
 * {@link deliver}s a message, and takes its content out of the store again where it was put there for this and was not sent.
 *
 * @throws what `deliver` throws.
 */
export async function deliverUploaded(context: ClientContext, turn: OutgoingTurn): Promise<Delivery> {
  try {
    return await deliver(context, turn);
  } catch (error) {
    if (turn.uploaded && !mayBeSent(error)) await forget(context, turn);
    throw error;
  }
}

/** The server's answer is lost, or says nothing of what it did before. */
function mayBeSent(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const failure = [error, cause].find((each) => isGrpcServiceError(each));
  return failure !== undefined && !REFUSALS.has(Number(failure.code));
}

async function forget({ store }: ClientContext, { names }: OutgoingTurn): Promise<void> {
  try {
    await store?.messages.forgetUpload(names.session, names.messageId);
  } catch (error) {
    // Why the message was not sent tells more; its content is left, and used where it is sent again.
    if (!isStoreAway(error)) throw error;
  }
}
