/** A promise that was not kept. */
export interface Violation {
  /** Absent where it is about no session. */
  sessionId?: string;
  /** Which promise it was. */
  promise: string;
  what: string;
}

/** Collects what a check finds of one session. */
export class Findings {
  readonly violations: Violation[] = [];
  readonly #sessionId: string | undefined;

  constructor(sessionId?: string) {
    this.#sessionId = sessionId;
  }

  expect(kept: boolean, promise: string, what: () => string): void {
    if (kept) return;
    const session = this.#sessionId === undefined ? {} : { sessionId: this.#sessionId };
    this.violations.push({ ...session, promise, what: what() });
  }

  expectEqual(got: unknown, expected: unknown, promise: string, what: string): void {
    const [left, right] = [JSON.stringify(got), JSON.stringify(expected)];
    this.expect(left === right, promise, () => `${what}: expected ${cut(right)}, got ${cut(left)}`);
  }
}

function cut(json: string | undefined): string {
  return json === undefined || json.length <= 600 ? String(json) : `${json.slice(0, 600)}…`;
}
