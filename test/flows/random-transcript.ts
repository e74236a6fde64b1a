import fc from 'fast-check';
import type { StoredEvent } from '../../src/contract/events.ts';
import type { Content, Part } from '../../src/events/content.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { nameCalls } from '../../src/flows/call-ids.ts';

/** What may happen to a session; `pick` chooses among what there is at that time. */
type Happening =
  | { type: 'message'; text: string; cutOff: 'answered before' | 'answered late' | 'never answered' }
  | { type: 'child' }
  | {
      type: 'calls';
      pick: number;
      /** As the provider sends them. */
      ids: (string | undefined)[];
      said: string | undefined;
      /** The step was opened before other runs of the invocation wrote anything. */
      openedEarly: boolean;
    }
  | { type: 'responses'; pick: number }
  | { type: 'answer'; pick: number; text: string }
  | { type: 'error'; pick: number; said: string | undefined }
  | { type: 'rewind'; pick: number }
  | { type: 'retry'; pick: number };

const pick = fc.nat();
const text = fc.string({ minLength: 1, maxLength: 8 });
const said = fc.option(text, { nil: undefined });
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('message' as const),
      text,
      cutOff: fc.constantFrom('answered before', 'answered late', 'never answered'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('child' as const) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('calls' as const),
      pick,
      ids: fc.array(fc.constantFrom(undefined, '', 'call_0', 'call_1', 'adk-old'), {
        minLength: 1,
        maxLength: 3,
      }),
      said,
      openedEarly: fc.boolean(),
    }),
  },
  { weight: 8, arbitrary: fc.record({ type: fc.constant('responses' as const), pick }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('answer' as const), pick, text: fc.constantFrom('', 'done') }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('error' as const), pick, said }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('rewind' as const, 'retry' as const), pick }) },
);

/**
 * Transcripts as stores keep them: turns of several runs at once, calls whose ids repeat, responses that come late or
 * never, rewinds before an invocation, retries from a step. Each call's arguments and each response say which call they
 * belong to (`at`), a response also at which seq it was written (`from`).
 */
export function transcripts(maxLength = 40): fc.Arbitrary<StoredEvent[]> {
  return fc
    .array(happening, { maxLength, size: 'max' })
    .map((happenings) =>
      new Session().after([{ type: 'message', text: 'hi', cutOff: 'never answered' }, ...happenings]),
    );
}

interface Run {
  key: string;
  step: number;
  open: { key: string; step: number; calls: Part[] } | undefined;
}

class Session {
  readonly events: StoredEvent[] = [];
  #runs: Run[] = [];
  #made = 0;
  #invocation = '';
  #idsAtStart = new Set<string>();

  after(happenings: readonly Happening[]): StoredEvent[] {
    for (const each of happenings) this.#happen(each);
    return this.events;
  }

  #happen(each: Happening): void {
    switch (each.type) {
      case 'message':
        this.#message(each);
        break;
      case 'child':
        if (this.#runs.length > 0) this.#runs.push(this.#newRun());
        break;
      case 'rewind':
        this.#rewind(each.pick);
        break;
      case 'retry':
        this.#retry(each.pick);
        break;
      case 'responses':
        this.#responses(this.#chosen(each.pick, true));
        break;
      case 'calls':
        this.#calls(this.#chosen(each.pick, false), each);
        break;
      case 'answer':
        this.#end(this.#chosen(each.pick, false), 'model', each.text);
        break;
      case 'error':
        this.#end(this.#chosen(each.pick, false), each.said === undefined ? 'error' : 'model', each.said);
        break;
    }
  }

  #chosen(choice: number, waits: boolean): Run | undefined {
    const runs = this.#runs.filter(({ open }) => (open !== undefined) === waits);
    return runs[choice % runs.length];
  }

  #end(run: Run | undefined, kind: 'model' | 'error', spoken = ''): void {
    if (run === undefined) return;
    this.#append(kind, run, kind === 'error' ? undefined : { role: 'model', parts: textParts(spoken) });
    this.#runs = this.#runs.filter((other) => other !== run);
  }

  #message({ text: given, cutOff }: Happening & { type: 'message' }): void {
    const cut = this.#runs.filter(({ open }) => open !== undefined);
    if (cutOff === 'answered before') for (const run of cut) this.#responses(run);
    this.#invocation = `e-${this.#made}`;
    const root = this.#newRun();
    this.#runs = [root];
    this.#idsAtStart = idsOf(this.events);
    this.#append('message', root, { role: 'user', parts: [{ text: given }] });
    if (cutOff === 'answered late') for (const run of cut) this.#responses(run);
  }

  #calls(run: Run | undefined, { ids, said: spoken, openedEarly }: Happening & { type: 'calls' }): void {
    if (run === undefined) return;
    const calls: Part[] = ids.map((id, index) => ({
      functionCall: {
        name: `tool_${index}`,
        args: { at: `${run.key}.${run.step}.${index}` },
        id,
      } as Part['functionCall'] & object,
      ...(index === 0 ? { thoughtSignature: `c2ln${run.step}` } : {}),
    }));
    const taken = openedEarly ? this.#idsAtStart : idsOf(this.events);
    const { parts } = nameCalls([...textParts(spoken ?? ''), ...calls], run.key, run.step, taken);
    this.#append('model', run, { role: 'model', parts });
    run.open = { key: run.key, step: run.step, calls: parts.filter(({ functionCall }) => functionCall) };
  }

  #responses(run: Run | undefined): void {
    if (run?.open === undefined) return;
    const { key, step, calls } = run.open;
    const parts = calls.map(({ functionCall }) => ({
      functionResponse: {
        id: functionCall?.id ?? '',
        name: functionCall?.name ?? '',
        response: { at: functionCall?.args?.at, from: this.events.length + 1 },
      },
    }));
    this.#append('responses', { key, step }, { role: 'user', parts });
    run.open = undefined;
    run.step += 1;
  }

  #rewind(choice: number): void {
    const messages = this.events.filter(({ kind }) => kind === 'message');
    const chosen = messages[choice % messages.length];
    if (chosen === undefined) return;
    this.#append('rewind', { key: chosen.runKey, step: 1 }, undefined, chosen.seq - 1);
    this.#runs = [];
  }

  /** The retried step's responses come under its own key, what follows them under a new one. */
  #retry(choice: number): void {
    const steps = this.events.filter(
      ({ kind, event }) => kind === 'model' && event.content?.parts?.some(({ functionCall }) => functionCall),
    );
    const chosen = steps[choice % steps.length];
    if (chosen === undefined) return;
    const { runKey: key, step } = chosen;
    this.#append('rewind', { key, step }, undefined, chosen.seq);
    const calls = (chosen.event.content?.parts ?? []).filter(({ functionCall }) => functionCall);
    this.#runs = [{ ...this.#newRun(), open: { key, step, calls } }];
  }

  #newRun(): Run {
    this.#made += 1;
    return { key: `run-${this.#made}`, step: 1, open: undefined };
  }

  #append(
    kind: StoredEvent['kind'],
    { key, step }: { key: string; step: number },
    content: Content | undefined,
    hidesAfter?: number,
  ): void {
    const seq = this.events.length + 1;
    this.events.push({
      seq,
      kind,
      runKey: key,
      step,
      ...(hidesAfter === undefined ? {} : { hidesAfter }),
      event: {
        id: `event-${seq}`,
        invocationId: this.#invocation,
        timestamp: 0,
        ...(content === undefined ? {} : { content }),
        actions: createEventActions(),
      },
    });
  }
}

function textParts(given: string): Part[] {
  return given === '' ? [] : [{ text: given }];
}

function idsOf(events: readonly StoredEvent[]): Set<string> {
  const ids = events.flatMap(({ event }) =>
    (event.content?.parts ?? []).flatMap(({ functionCall }) => functionCall?.id ?? []),
  );
  return new Set(ids);
}

/** What is visible, by the rule itself: behind a rewind as much as at the seq that it goes back to. */
export function visibleByRule<E extends { seq: number; hidesAfter?: number }>(events: readonly E[]): E[] {
  const visibleAt: E[][] = [[]];
  for (const event of events) {
    const { seq, hidesAfter } = event;
    visibleAt[seq] =
      hidesAfter === undefined ? [...(visibleAt[seq - 1] ?? []), event] : (visibleAt[hidesAfter] ?? []);
  }
  return visibleAt[events.length] ?? [];
}
