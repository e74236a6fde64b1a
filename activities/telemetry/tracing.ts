import { createHash } from 'node:crypto';
import {
  type Attributes,
  type Context,
  context,
  diag,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type TimeInput,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import {
  BasicTracerProvider,
  ParentBasedSampler,
  RandomIdGenerator,
  type ReadableSpan,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { ParentSpan } from '../../src/protocol/agent-run.ts';
import { errorTypeOf } from './turn-metrics.ts';

/** Version 00 of the W3C's Trace Context: trace id, parent's span id, flags. */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const ZEROS = /^0+$/;

/** Where a turn stands in its trace. */
export interface TurnTrace {
  /** The span of the whole turn, which the worker that ends the turn writes. */
  turn: SpanContext;
  /** The span in which the client sent the message, or the span of the turn that has started this one. */
  sender: SpanContext | undefined;
}

/**
 * The same for every worker that has a part in the turn, so that nothing has to be handed from one to the next: the turn's
 * span id comes from its run key, and so does the trace id of a message that came without `traceparent`. A run below the root
 * is in the root's trace, below what has begun it.
 */
export function turnTrace(
  runKey: string,
  traceparent: string | undefined,
  below?: Pick<ParentSpan, 'root' | 'by'>,
): TurnTrace {
  const spanId = spanIdOf(runKey);
  const [, traceId = '', senderId = '', flags = ''] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === '' || ZEROS.test(traceId) || ZEROS.test(senderId)) {
    const own = { traceId: idOf('trace', below?.root ?? runKey, 32), traceFlags: TraceFlags.SAMPLED };
    const sender = below === undefined ? undefined : { ...own, spanId: spanIdOf(below.by) };
    return { turn: { ...own, spanId }, sender };
  }
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  const above = below === undefined ? senderId : spanIdOf(below.by);
  return {
    turn: { traceId, spanId, traceFlags, isRemote: true },
    sender: { traceId, spanId: above, traceFlags, isRemote: true },
  };
}

/** Span id of a run, or of the call of an agent's tool; spans of others are below it. */
export function spanIdOf(key: string): string {
  return idOf('span', key, 16);
}

function idOf(kind: 'span' | 'trace', runKey: string, length: number): string {
  return createHash('sha256').update(`${kind} ${runKey}`).digest('hex').slice(0, length);
}

/** Options of tracing; see {@link https://opentelemetry.io/docs/specs/semconv/gen-ai/}. */
export interface TracingOptions {
  /**
   * Where spans go, for one a `BatchSpanProcessor` of `@opentelemetry/sdk-trace-base` with an OTLP exporter. They are shut down with
   * the worker.
   */
  spanProcessors: TurnSpanProcessor[];
  /** Attributes of the process in its spans, as `resourceFromAttributes({ 'service.name': 'shop-agents' })` makes them. */
  resource?: object;
  /**
   * Share of the traces of messages that came without a `traceparent`, 0 to 1: those with one follow their sender.
   *
   * @default 1
   */
  ratio?: number;
  /**
   * Puts messages, answers, arguments and results into the spans, but nothing of `sensitive` agents and tools.
   *
   * @default false
   */
  contents?: boolean;
}

interface TracedTurn {
  runKey: string;
  traceparent?: string | undefined;
  tracedBelow?: ParentSpan | undefined;
}

export interface TracedSpan {
  name: string;
  kind: 'client' | 'internal';
  attributes: Attributes;
}

export interface SpanEnd {
  attributes?: Attributes;
  /** Without the error's text: it may quote data that a span must not have. */
  error?: { type: string };
}

/** Spans of turns. Never throws, never waits: they are exported in the background. */
export class Tracing {
  readonly contents: boolean;
  readonly #provider: BasicTracerProvider;
  readonly #ids = new ChosenIds();

  constructor({ spanProcessors, resource, ratio = 1, contents = false }: TracingOptions) {
    this.contents = contents;
    this.#provider = new BasicTracerProvider({
      spanProcessors: spanProcessors.map(loggingFailures),
      sampler: sampler(ratio),
      idGenerator: this.#ids,
      ...(resource === undefined ? {} : { resource: resource as ReadableSpan['resource'] }),
    });
  }

  /** Runs work within a span of a turn; what the work calls is traced below it where it is instrumented. */
  async within<T>(
    turn: TracedTurn,
    { name, kind, attributes }: TracedSpan,
    work: (end: (facts: SpanEnd) => void) => Promise<T>,
  ): Promise<T> {
    const parent = trace.setSpanContext(ROOT_CONTEXT, traceOf(turn).turn);
    const span = this.#tracer().startSpan(name, { kind: KINDS[kind], attributes }, parent);
    const told: SpanEnd = {};
    try {
      return await context.with(trace.setSpan(context.active(), span), () =>
        work((facts) => Object.assign(told, facts)),
      );
    } catch (error) {
      told.error ??= { type: errorTypeOf(error) };
      throw error;
    } finally {
      finish(span, told);
    }
  }

  /** Writes the span of a turn that has ended. */
  turn(turn: TracedTurn, name: string, began: TimeInput, { attributes = {}, error }: SpanEnd): void {
    const { turn: own, sender } = traceOf(turn);
    const parent: Context = sender === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, sender);
    const span = this.#ids.choose(own, () =>
      this.#tracer().startSpan(name, { kind: SpanKind.INTERNAL, attributes, startTime: began }, parent),
    );
    finish(span, error === undefined ? {} : { error });
  }

  /** Writes the span of a call whose agent has run, below which that one's own is. */
  call(
    turn: TracedTurn,
    { name, kind, attributes }: TracedSpan,
    { callKey, began }: { callKey: string; began: TimeInput },
    end: SpanEnd,
  ): void {
    const above = traceOf(turn).turn;
    const parent = trace.setSpanContext(ROOT_CONTEXT, above);
    const own = { traceId: above.traceId, spanId: spanIdOf(callKey) };
    const span = this.#ids.choose(own, () =>
      this.#tracer().startSpan(name, { kind: KINDS[kind], attributes, startTime: began }, parent),
    );
    finish(span, end);
  }

  /** Exports what is left. */
  async shutdown(): Promise<void> {
    await this.#provider.shutdown();
  }

  #tracer() {
    return this.#provider.getTracer('holdfast');
  }
}

function traceOf({ runKey, traceparent, tracedBelow }: TracedTurn): TurnTrace {
  return turnTrace(runKey, traceparent, tracedBelow);
}

const KINDS = { client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

function finish(span: Span, { attributes, error }: SpanEnd): void {
  if (attributes !== undefined) span.setAttributes(attributes);
  if (error !== undefined) {
    span.setAttribute('error.type', error.type);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

/**
 * A message's sender has decided for its trace. Without one the decision comes from the trace id, so that the spans of a turn
 * agree, whichever worker writes them; their parent is then none of another process.
 */
function sampler(ratio: number): Sampler {
  const root = new TraceIdRatioBasedSampler(ratio);
  return new ParentBasedSampler({ root, localParentSampled: root });
}

/** Random ids, but for the span of a turn, whose id is known before it ends. */
class ChosenIds extends RandomIdGenerator {
  #chosen: { traceId: string; spanId: string } | undefined;

  constructor() {
    super();
    const random = { traceId: this.generateTraceId, spanId: this.generateSpanId };
    this.generateTraceId = () => this.#chosen?.traceId ?? random.traceId();
    this.generateSpanId = () => this.#chosen?.spanId ?? random.spanId();
  }

  choose<T>(ids: { traceId: string; spanId: string }, start: () => T): T {
    this.#chosen = ids;
    try {
      return start();
    } finally {
      this.#chosen = undefined;
    }
  }
}

/** A `SpanProcessor` of OpenTelemetry's SDK, which a tracing program brings: without it these types are there, too. */
export interface TurnSpanProcessor {
  onStart(span: Span, parent: Context): void;
  onEnd(span: object): void;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** An error of a span processor must not fail the span's model call or tool, which would run again. */
function loggingFailures(processor: TurnSpanProcessor): TurnSpanProcessor {
  const told = (tell: () => void) => {
    try {
      tell();
    } catch (error) {
      diag.error('holdfast: a span processor has thrown', error);
    }
  };
  return {
    onStart: (span, parent) => told(() => processor.onStart(span, parent)),
    onEnd: (span) => told(() => processor.onEnd(span)),
    forceFlush: () => processor.forceFlush(),
    shutdown: () => processor.shutdown(),
  };
}
