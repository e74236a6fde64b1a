import type { JobProgress, JobStatus } from '../../protocol/job.ts';
import type { SessionNames } from '../sessions/session-names.ts';

/** Something that was written, for followers: never more than a hint to read the store. */
type WriteNotice =
  | {
      type: 'appended';
      session: string;
      /** Of the last event. */
      seq: number;
      /** On a turn's first event. */
      names?: SessionNames;
    }
  /** The agent of a call has begun a session of its own; told to the followers of the root's. */
  | {
      type: 'child';
      session: string;
      child: string;
      runKey: string;
      callKey: string;
      path: readonly string[];
    }
  | { type: 'call started'; session: string; runKey: string; callKey: string; tool: string; attempt: number }
  | { type: 'call settled'; session: string; runKey: string; callKey: string; tool: string; failed: boolean }
  /** A job was begun, parked or detached, has got on, or has ended. */
  | {
      type: 'job';
      session: string;
      runKey: string;
      callKey: string;
      tool: string;
      jobId: string;
      status: JobStatus;
      mode: 'started' | 'parked' | 'detached';
      progress?: JobProgress;
    };

/** Text of a model's answer as it comes; the whole answer is the event of its step. */
export interface PartialText {
  type: 'text';
  session: string;
  runKey: string;
  step: number;
  /** Who writes it. */
  agent: string;
  /** Of the model step, from 1. */
  attempt: number;
  /** From 0, gapless within an attempt: where one is missing, text is missing. */
  index: number;
  text: string;
  /** The model's thoughts, not its answer. */
  thought?: true;
}

/** Text of this step's attempts before this one belongs to no answer. */
interface PartialTextDropped {
  type: 'text dropped';
  session: string;
  runKey: string;
  step: number;
  /** The first attempt whose text counts. */
  attempt: number;
}

/** A chunk of a streaming tool's result as it comes; the whole result is the call's response. */
export interface ToolChunk {
  type: 'tool chunk';
  session: string;
  runKey: string;
  callKey: string;
  tool: string;
  /** Of the call, from 1. */
  attempt: number;
  /** From 0, gapless within an attempt: where one is missing, a chunk is missing. */
  index: number;
  /** JSON: the tool's `content`; text of neighbouring chunks may come in one. */
  content: unknown;
  error?: string;
  metadata?: Record<string, unknown>;
}

/** Chunks of this call's attempts before this one belong to no result. */
interface ToolChunksDropped {
  type: 'tool chunks dropped';
  session: string;
  runKey: string;
  callKey: string;
  /** The first attempt whose chunks count. */
  attempt: number;
}

/** What is told and never stored. */
export type LiveNotice = PartialText | PartialTextDropped | ToolChunk | ToolChunksDropped;

export type StoreNotice = WriteNotice | LiveNotice;
