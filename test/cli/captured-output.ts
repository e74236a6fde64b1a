import type { CommandOutput } from '../../src/cli/command-output.ts';

/** What a command that runs in this process says; without colours. */
export interface CapturedOutput extends CommandOutput {
  /** Standard output, line by line. */
  lines: string[];
  /** Standard error. */
  notes: string[];
  /** Standard output as JSON, a value for each line. */
  values(): unknown[];
}

/** @param confirm what a person answers; without one nobody can be asked. */
export function capturedOutput(confirm?: (question: string) => boolean): CapturedOutput {
  const lines: string[] = [];
  const notes: string[] = [];
  return {
    lines,
    notes,
    line: (text = '') => void lines.push(text),
    json: (value) => void lines.push(JSON.stringify(value)),
    note: (text) => void notes.push(text),
    paint: (_style, text) => text,
    confirm: confirm && (async (question) => confirm(question)),
    values: () => lines.map((line) => JSON.parse(line)),
  };
}
