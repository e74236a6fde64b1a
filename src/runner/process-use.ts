/** What an environment's thread and its connections are, and standard streams, as Node counts what keeps a process up. */
const OURS: readonly string[] = ['MessagePort', 'PipeWrap', 'TTYWrap'];

/**
 * Whether something of the program itself keeps the process up: a timer, a server, a request, a question on standard input.
 * Only where there is nothing of that kind does the program depend on what an environment holds open.
 */
export function programGoesOn(): boolean {
  return process.getActiveResourcesInfo().some((kind) => !OURS.includes(kind)) || isRead(process.stdin);
}

function isRead(stdin: NodeJS.ReadStream): boolean {
  if (stdin.readableEnded || stdin.destroyed) return false;
  return stdin.readableFlowing === true || stdin.listenerCount('readable') > 0;
}
