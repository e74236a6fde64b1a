import type { ToolEdit } from '../../protocol/run-terms.ts';

/** A run's own memory, for Holdfast itself. It has columns: no `stateDelta` reaches it, and user code doesn't see it. */
export interface Remembered {
  /** Of the run's tools, in order. */
  toolEdits: readonly ToolEdit[];
  /** User code has ended the invocation: no model is asked any more, and its agent's end isn't heard of. */
  ends: boolean;
}

/** As statements return it; null of nearly all runs. */
export type RememberedColumn = { toolEdits: readonly ToolEdit[] | null; ends: boolean } | null;

const NOTHING: Remembered = { toolEdits: [], ends: false };

export function rememberedOf(column: RememberedColumn | undefined): Remembered {
  return column ? { toolEdits: column.toolEdits ?? [], ends: column.ends } : NOTHING;
}

/** Of the run whose session and key these parameters have. */
export function remembered(session: string, run: string): string {
  return `holdfast.remembered(${session}, ${run})`;
}
