import {
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  getExternalWorkflowHandle,
  workflowInfo,
} from '@temporalio/workflow';
import { TURN_ENDED } from '../../src/protocol/names.ts';
import type { AgentTurnStart, TurnResult } from '../../src/protocol/turn.ts';
import { signalParent } from '../children/children.ts';
import { withoutReplies } from '../messages/answered-messages.ts';
import { handleTurn } from './handlers.ts';
import { CancelledInvocation, runInvocation } from './invocation.ts';
import { keepLabelled } from './search-attributes.ts';
import { checkedCarried, checkedChild, checkedStart, isChild, missingMessage } from './start.ts';
import { turnFailure } from './steps.ts';
import { Turn } from './turn.ts';
import {
  beginInvocation,
  type ChainState,
  childChain,
  endInvocation,
  type InvocationState,
  initialChain,
  resultOfChain,
  supersede,
} from './turn-state.ts';

const NOTHING_WAITS = 'an answer to a request came with the first message: no request is pending then';

/**
 * A turn, from a message to its final answer, and those of the messages that come meanwhile: one invocation after another. That of
 * an agent below another one is a single invocation, and takes no messages. The history holds their control, the store their content.
 *
 * @param carriedOver what the run before has carried over by continue-as-new.
 */
export async function agentTurn(given: AgentTurnStart, carriedOver?: ChainState): Promise<TurnResult> {
  const turn = beginTurn(given, carriedOver);
  const { chain, mailbox } = turn;
  for (;;) {
    const current = chain.current ?? (await nextInvocation(turn));
    if (current === undefined) {
      if (await turn.remember()) continue;
      break;
    }
    const ended = await runCurrent(turn, current);
    if ('inbox' in ended) {
      supersede(chain);
      mailbox.takeUp(ended.inbox, current);
      continue;
    }
    if (ended instanceof CancelledInvocation) {
      await turn.remember();
      await turn.handled();
      const { recorded, error } = ended;
      const hasEnded = recorded !== undefined && recorded.status !== 'interrupted';
      if (hasEnded) endInvocation(chain, recorded);
      // Its own message may yet wait in the store.
      if (!hasEnded || chain.first === undefined) {
        turn.ends('interrupted');
        throw error;
      }
      break;
    }
    mailbox.ended(current.invocationId, current.digest);
    endInvocation(chain, ended);
    if (mailbox.waiting > 0 && chain.first === ended) await signalStarter(ended);
    if (mailbox.waiting > 0 && !isCancelled()) await turn.continueWhereSuggested();
  }
  if (chain.first === undefined) throw missingMessage();
  const result = resultOfChain(chain);
  turn.ends(result.status);
  if (result.status === 'failed') throw turnFailure(result);
  return result;
}

/** Checks what the turn was started with, and takes what comes from now on. */
function beginTurn(given: AgentTurnStart, carriedOver: ChainState | undefined): Turn {
  const info = workflowInfo();
  const carried = checkedCarried(carriedOver, info);
  if (isChild(given)) {
    const start = checkedChild(given, info);
    const turn = new Turn(start, carried ?? childChain(start));
    handleTurn(turn);
    void keepLabelled(turn.chain, () => turn.label);
    void signalParent(start.child, turn);
    return turn;
  }
  const { start, inVain } = withoutReplies(checkedStart(given, info));
  const turn = new Turn(start, carried ?? initialChain(start, info));
  handleTurn(turn);
  for (let count = 0; count < inVain; count += 1) turn.note(NOTHING_WAITS);
  void keepLabelled(turn.chain, () => turn.label);
  return turn;
}

/** The invocation of the next message; undefined where no message waits. */
async function nextInvocation(turn: Turn): Promise<InvocationState | undefined> {
  const { chain, mailbox } = turn;
  await turn.handled(() => mailbox.waiting > 0 && !isCancelled());
  if (isCancelled() && (chain.first === undefined || mailbox.waiting > 0)) {
    await turn.remember();
    await turn.handled();
    turn.ends('interrupted');
    throw new CancelledFailure('CANCELLED');
  }
  const next = mailbox.next();
  return next && beginInvocation(chain, next);
}

async function runCurrent(turn: Turn, current: InvocationState) {
  const { chain } = turn;
  const cutOff = chain.withdrawn?.[current.invocationId];
  if (cutOff !== undefined) turn.steering.end({ status: 'interrupted', cutOff });
  turn.begins(current);
  try {
    const ended = await runInvocation(turn, current);
    if (cutOff !== undefined) delete chain.withdrawn?.[current.invocationId];
    return ended;
  } catch (error) {
    // Accepted messages are stored before the run closes.
    if (!(error instanceof ContinueAsNew)) await turn.handled();
    throw error;
  }
}

/** The workflow that started the run need not wait for the later turns of others. */
async function signalStarter(result: TurnResult): Promise<void> {
  const { parent } = workflowInfo();
  if (parent === undefined) return;
  try {
    const { workflowId, runId } = parent;
    await CancellationScope.nonCancellable(() =>
      getExternalWorkflowHandle(workflowId, runId).signal(TURN_ENDED, result),
    );
  } catch {
    // It has closed, or has gone on in another run, which waits for no turn.
  }
}

function isCancelled(): boolean {
  return CancellationScope.current().consideredCancelled;
}
