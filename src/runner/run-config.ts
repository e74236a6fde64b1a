import type {
  AudioTranscriptionConfig,
  ContextWindowCompressionConfig,
  Modality,
  ProactivityConfig,
  RealtimeInputConfig,
  SpeechConfig,
} from '@google/genai';
import { getLogger } from '../logger.ts';
import { defined, isRecord } from '../protocol/json.ts';
import type { TurnRunConfig } from '../protocol/run-terms.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';

/** How answers come. Values: `StreamingMode` of `@google/adk` 2.0.0. */
export const StreamingMode = {
  /** Whole. */
  NONE: 'none',
  /** In pieces, as partial events, and then whole. */
  SSE: 'sse',
  /** Both ways at once: refused, as in 2.0.0. */
  BIDI: 'bidi',
} as const;

export type StreamingMode = (typeof StreamingMode)[keyof typeof StreamingMode];

/**
 * Settings of one run. Fields: `RunConfig` of `@google/adk` 2.0.0. Those that this release has are `streamingMode`,
 * `maxLlmCalls` and `pauseOnToolCalls`; any other one that is set is refused by its name.
 */
export interface RunConfig {
  /** Defaults to `StreamingMode.NONE`. */
  streamingMode?: StreamingMode;
  /** Model calls that the run may make. Zero or less means no limit. Defaults to 500. */
  maxLlmCalls?: number;
  /** The run ends with any calls that the model asks for: their responses come with the next message. Defaults to false. */
  pauseOnToolCalls?: boolean;
  /** Refused where it is true. */
  saveInputBlobsAsArtifacts?: boolean;
  /** Refused where it is true. */
  plainTextToolConfirmation?: boolean;
  /** Refused where it is true. */
  allowRemoteToolConfirmation?: boolean;
  /** Refused where it is true. */
  remoteDelivered?: boolean;
  /** Refused where it is true, like all that the Live API alone has. */
  supportCfc?: boolean;
  /** Refused where it is true. */
  enableAffectiveDialog?: boolean;
  /** Refused. */
  speechConfig?: SpeechConfig;
  /** Refused. */
  responseModalities?: Modality[];
  /** Refused. */
  outputAudioTranscription?: AudioTranscriptionConfig;
  /** Refused. */
  inputAudioTranscription?: AudioTranscriptionConfig;
  /** Refused. */
  proactivity?: ProactivityConfig;
  /** Refused. */
  realtimeInputConfig?: RealtimeInputConfig;
  /** Refused. */
  contextWindowCompression?: ContextWindowCompressionConfig;
}

const OWN: readonly string[] = [
  'streamingMode',
  'maxLlmCalls',
  'pauseOnToolCalls',
] satisfies (keyof RunConfig)[];

const CONFIRMED =
  'is not supported: a decision answers a call that waits (approvals of a client, or a function response); leave it out';

const LIVE = 'is of the Live API, which Holdfast has no part in; leave it out';

/** Why a field is refused. */
const REFUSED: Record<
  Exclude<keyof RunConfig, 'streamingMode' | 'maxLlmCalls' | 'pauseOnToolCalls'>,
  string
> = {
  saveInputBlobsAsArtifacts:
    'is what the plugin SaveFilesAsArtifactsPlugin does: give it to the App, and leave this out',
  plainTextToolConfirmation: CONFIRMED,
  allowRemoteToolConfirmation: CONFIRMED,
  remoteDelivered: 'is set by the A2A executor of @google/adk alone; leave it out',
  supportCfc: LIVE,
  enableAffectiveDialog: LIVE,
  speechConfig: LIVE,
  responseModalities: LIVE,
  outputAudioTranscription: LIVE,
  inputAudioTranscription: LIVE,
  proactivity: LIVE,
  realtimeInputConfig: LIVE,
  contextWindowCompression: LIVE,
};

/**
 * The run config of a turn. Semantics: `createRunConfig` of `@google/adk` 2.0.0, whose texts it has; the limit of model
 * calls that it fills in is the worker's affair.
 *
 * @throws DefinitionError for `StreamingMode.BIDI`, for a `maxLlmCalls` that is too large, and naming a field that is not
 * supported.
 */
export function turnRunConfig(given: RunConfig = {}): TurnRunConfig {
  if (!isRecord(given))
    throw new DefinitionError({ owner: 'runConfig', problem: `expected an object, got ${kindOf(given)}` });
  const { streamingMode, maxLlmCalls, pauseOnToolCalls } = given as RunConfig;
  if (streamingMode === StreamingMode.BIDI) {
    throw refused('', 'StreamingMode.BIDI is not supported; use StreamingMode.SSE.');
  }
  if (maxLlmCalls !== undefined && maxLlmCalls > Number.MAX_SAFE_INTEGER) {
    throw refused('', `maxLlmCalls should be less than ${Number.MAX_SAFE_INTEGER}.`);
  }
  for (const [field, value] of Object.entries(given)) {
    // Defaults that ADK's own `createRunConfig` fills in.
    if (value === undefined || value === false || OWN.includes(field)) continue;
    const why = Object.hasOwn(REFUSED, field)
      ? REFUSED[field as keyof typeof REFUSED]
      : 'is no field of a RunConfig';
    throw refused(field, why);
  }
  if (maxLlmCalls !== undefined && maxLlmCalls <= 0) {
    getLogger().warn('maxLlmCalls is zero or less: nothing bounds how often this run asks the model');
  }
  return {
    ...defined({ maxLlmCalls, streamingMode, pauseOnToolCalls }),
  };
}

/** Without a field the text stands for itself, as in 2.0.0. */
function refused(field: string, problem: string): DefinitionError {
  return field === ''
    ? new DefinitionError({ owner: '', problem })
    : new DefinitionError({ owner: 'runConfig', field, problem });
}
