/** By name of what is needed: whether it answers. */
export type Readiness = Readonly<Record<string, boolean>>;

/** How long an answer is given again without asking anew, milliseconds: anybody may ask. */
const FRESH = 1_000;

/**
 * Asks several things at once whether they answer; those that fail, or take too long, don't. However many ask, each is asked
 * once a second at most.
 *
 * @param timeout milliseconds. Defaults to 3,000.
 * @example
 * const ready = readiness({
 *   temporal: () => connection.ensureConnected(),
 *   store: () => store.sessions.find({ app: '-', userId: '-', sessionId: '-' }),
 * });
 */
export function readiness(
  checks: Readonly<Record<string, () => Promise<unknown>>>,
  timeout = 3_000,
): () => Promise<Readiness> {
  let latest: { at: number; answer: Promise<Readiness> } | undefined;
  return () => {
    if (latest === undefined || Date.now() - latest.at > FRESH) {
      latest = { at: Date.now(), answer: askAll(checks, timeout) };
    }
    return latest.answer;
  };
}

async function askAll(
  checks: Readonly<Record<string, () => Promise<unknown>>>,
  timeout: number,
): Promise<Readiness> {
  const names = Object.keys(checks);
  const answers = await Promise.all(names.map((name) => answersIn(checks[name], timeout)));
  return Object.fromEntries(names.map((name, index) => [name, answers[index] ?? false]));
}

async function answersIn(check: (() => Promise<unknown>) | undefined, timeout: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), timeout);
  try {
    return await Promise.race([Promise.resolve(check?.()).then(yes, no), late.promise]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

const yes = () => true;
const no = () => false;
