import type { FunctionCall } from '@google/genai';
import type { StoredEvent } from '../../src/contract/events.ts';
import { getFunctionCalls, getFunctionResponses, stringifyContent } from '../../src/events/event.ts';
import { callKeyOf } from '../../src/protocol/identity.ts';
import type { SoakResponse } from '../setup/soak-agents.ts';
import { fillerOf } from '../setup/soak-random.ts';
import { invocationOf, type SessionEvidence } from './evidence.ts';
import { answerOf, argumentsOf, messageOf } from './model.ts';
import {
  failsForEver,
  isHooked,
  messagesOf,
  type Scenario,
  type SoakMessage,
  type SoakTurn,
} from './plan.ts';
import { Findings, type Violation } from './violation.ts';

/** A call of a transcript with what it came to. */
export interface TranscriptCall {
  callKey: string;
  messageId: string;
  tool: string;
  n: number;
  /** Absent where the tool's error, or a text of ours, stands in its place. */
  success?: SoakResponse;
  error?: string;
}

/** Each call of a session's transcript, in order. */
export function callsOfTranscript({ played: { scenario }, events }: SessionEvidence): TranscriptCall[] {
  const messageIds = new Map(
    messagesOf(scenario).map(({ turn }) => [invocationOf(scenario, turn.messageId), turn.messageId]),
  );
  return events.flatMap((stored) => {
    const { kind, runKey, step, event } = stored;
    if (kind !== 'model') return [];
    const answer = events.find((other) => answers(other, stored));
    const responses = answer === undefined ? [] : getFunctionResponses(answer.event);
    return getFunctionCalls(event).map(({ name = '', args }, index) => {
      const response = responses[index]?.response;
      return {
        callKey: callKeyOf(runKey, step, index),
        messageId: messageIds.get(event.invocationId) ?? '',
        tool: name,
        n: Number(args?.n),
        ...(typeof response?.error === 'string'
          ? { error: response.error }
          : response && { success: response as unknown as SoakResponse }),
      };
    });
  });
}

/** The transcript of a session tells each of its turns once, whole and in order. */
export function checkTranscript(session: SessionEvidence): Violation[] {
  const { played, events, inbox } = session;
  const { scenario } = played;
  const found = new Findings(scenario.sessionId);
  const seqs = events.map(({ seq }) => seq);
  found.expectEqual(
    seqs,
    seqs.map((_, index) => index + 1),
    'seq is gapless',
    'seqs',
  );
  const ids = new Set(events.map(({ event }) => event.id));
  found.expectEqual(ids.size, events.length, 'event ids are unique', 'distinct ids');
  const waiting = inbox.filter(({ status }) => status !== 'rejected').map(({ messageId }) => messageId);
  found.expectEqual(waiting, [], 'every message is answered', 'messages that still wait in the inbox');
  checkMessages(session, found);
  checkResponses(events, found);
  checkStatuses(session, found);
  for (const message of messagesOf(scenario)) checkTurn(session, message, found);
  return found.violations;
}

function checkMessages({ played, events, keptBeforeStop }: SessionEvidence, found: Findings): void {
  const { scenario } = played;
  const sent = messagesOf(scenario);
  const order = events.filter(({ kind }) => kind === 'message').map(({ event }) => event.invocationId);
  const idOf = ({ turn }: SoakMessage) => invocationOf(scenario, turn.messageId);
  found.expectEqual(
    [...order].sort(),
    sent.map(idOf).sort(),
    'one message event for each message id',
    'invocations of the message events',
  );
  // Who interrupts goes before who waits, and who comes after a stop begins a run of its own.
  const inOrder = scenario.messages
    .filter(({ policy }) => policy === undefined)
    .filter(({ turn: { messageId } }, index) => index === 0 || (keptBeforeStop?.includes(messageId) ?? true))
    .map(idOf);
  found.expectEqual(
    order.filter((id) => inOrder.includes(id)),
    inOrder.filter((id) => order.includes(id)),
    'queued messages are answered in the order in which they were accepted',
    'order of the message events',
  );
}

function checkResponses(events: readonly StoredEvent[], found: Findings): void {
  for (const stored of events) {
    const { kind, seq, event } = stored;
    const name = `the ${kind} event ${seq}`;
    if (kind === 'responses') {
      const asked = events.filter((other) => other.kind === 'model' && answers(stored, other));
      found.expectEqual(asked.length, 1, 'responses answer calls', `model events before ${name}`);
    }
    const calls = kind === 'model' ? getFunctionCalls(event) : [];
    if (calls.length === 0) continue;
    const answered = events.filter((other) => answers(other, stored));
    const [answer] = answered;
    found.expectEqual(
      answered.map((other) => other.seq),
      [seq + 1],
      'calls have exactly one responses event, right behind them',
      `responses events of ${name}`,
    );
    found.expectEqual(
      answer && getFunctionResponses(answer.event).map(nameAndId),
      calls.map(nameAndId),
      'responses are in call order',
      `responses to ${name}`,
    );
  }
}

function nameAndId({ name, id }: Pick<FunctionCall, 'name' | 'id'>) {
  return [name, id];
}

function answers(responses: StoredEvent, model: StoredEvent): boolean {
  return responses.kind === 'responses' && responses.runKey === model.runKey && responses.step === model.step;
}

/** How a message's turn may end, where nobody interrupts it. */
function endOf({ turn }: SoakMessage): 'completed' | 'failed' {
  return failsForEver(turn) ? 'failed' : 'completed';
}

function checkStatuses({ played, invocations }: SessionEvidence, found: Findings): void {
  const { scenario, stopTaken } = played;
  const interrupters = scenario.messages.filter(({ policy }) => policy === 'interrupt');
  const mayInterrupt = interrupters.length + (stopTaken ? 1 : 0);
  const interrupted: string[] = [];
  for (const message of messagesOf(scenario)) {
    const { messageId } = message.turn;
    const status = invocations.get(messageId)?.status;
    const sheltered = message === scenario.following || interrupters.includes(message);
    if (status === 'interrupted' && !sheltered) interrupted.push(messageId);
    else found.expectEqual(status, endOf(message), 'every message is answered', `status of ${messageId}`);
  }
  found.expect(
    interrupted.length <= mayInterrupt,
    'only what was interrupted ends so',
    () => `${interrupted.join(', ')} are interrupted, by ${mayInterrupt} orders`,
  );
}

function checkTurn(session: SessionEvidence, message: SoakMessage, found: Findings): void {
  const { played, events, invocations } = session;
  const { turn } = message;
  const recorded = invocations.get(turn.messageId);
  if (recorded === undefined) return;
  const own = events.filter(({ event }) => event.invocationId === recorded.invocationId);
  const { from, to, status, outcome } = recorded;
  found.expectEqual(
    own.map(({ seq }) => seq),
    events.map(({ seq }) => seq).filter((seq) => seq >= from && seq <= to),
    'no event is outside of its invocation',
    `events of ${turn.messageId}, which are ${from} to ${to}`,
  );
  const [first] = own;
  found.expectEqual(
    first?.kind === 'message' && first.event.content?.parts,
    [{ text: messageOf(turn) }],
    'a turn begins with its message',
    `first event of ${turn.messageId}`,
  );
  const steps = own.filter(({ kind }) => kind === 'model');
  steps.forEach((stored, index) => {
    checkStep(turn, stored, index, found);
  });
  const last = own.at(-1);
  if (status === 'completed') {
    found.expectEqual(
      steps.length,
      turn.steps.length + 1,
      'a turn has its steps',
      `steps of ${turn.messageId}`,
    );
    found.expectEqual(outcome?.text, answerOf(turn), 'a turn has its answer', `text of ${turn.messageId}`);
  }
  const kinds: Record<string, StoredEvent['kind'][]> = {
    completed: isHooked(played.scenario) ? ['callback'] : ['model'],
    failed: ['error'],
    // Nothing follows where it was interrupted before its model answered, or terminated.
    interrupted: ['message', 'responses', 'error'],
  };
  found.expect(
    last !== undefined && (kinds[status]?.includes(last.kind) ?? false),
    'a turn ends as its status says',
    () => `${turn.messageId} is ${status}, its last event is of kind ${last?.kind}`,
  );
  checkAnswers(session, turn, found);
  checkResults(session, turn, played.scenario, found);
}

function checkStep(turn: SoakTurn, { step, event }: StoredEvent, index: number, found: Findings): void {
  found.expectEqual(step, index + 1, 'steps are numbered', `step ${index + 1} of ${turn.messageId}`);
  const planned = turn.steps[index];
  const name = `step ${step} of ${turn.messageId}`;
  if (planned === undefined) {
    found.expectEqual(stringifyContent(event), answerOf(turn), 'a model event is the model’s answer', name);
  }
  found.expectEqual(
    getFunctionCalls(event).map((call) => [call.name, call.args]),
    (planned ?? []).map((call) => [call.tool, argumentsOf(turn.messageId, call)]),
    'a model event is the model’s answer',
    `calls of ${name}`,
  );
}

function checkAnswers(session: SessionEvidence, turn: SoakTurn, found: Findings): void {
  const planned = new Map(turn.steps.flat().map((call) => [call.n, call]));
  for (const { callKey, n, success, messageId } of callsOfTranscript(session)) {
    const call = planned.get(n);
    if (messageId !== turn.messageId || success === undefined || call === undefined) continue;
    const { attempt: _attempt, charge: _charge, count: _count, ...answer } = success;
    found.expectEqual(
      Object.entries(answer).sort(),
      Object.entries({ callKey, n, got: call.send, text: fillerOf(callKey, call.give) }).sort(),
      'a response answers its own call',
      `response to ${callKey}`,
    );
  }
}

/** What clients were told is what the store says. */
function checkResults(session: SessionEvidence, turn: SoakTurn, scenario: Scenario, found: Findings): void {
  const { played, invocations } = session;
  const recorded = invocations.get(turn.messageId);
  const answers = played.answers.filter(({ messageId }) => messageId === turn.messageId);
  const message = messagesOf(scenario).find((each) => each.turn === turn);
  const asked =
    !(scenario.quiet && scenario.following !== undefined) ||
    message === scenario.messages[0] ||
    message === scenario.following;
  found.expectEqual(
    answers.length,
    asked ? (message?.twice ? 2 : 1) : 0,
    'every message is answered',
    `answers to ${turn.messageId}`,
  );
  for (const { result } of answers) {
    if (result === undefined) continue;
    found.expectEqual(
      [result.invocationId, result.status, result.events],
      [recorded?.invocationId, recorded?.status, { from: recorded?.from, to: recorded?.to }],
      'clients are told what is recorded',
      `result of ${turn.messageId}`,
    );
    if (result.text !== undefined) {
      found.expectEqual(
        result.text,
        recorded?.outcome?.text,
        'clients are told what is recorded',
        `text of ${turn.messageId}`,
      );
    }
  }
}
