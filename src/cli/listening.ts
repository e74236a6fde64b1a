import { CliError } from './cli-error.ts';

/**
 * A server of a command, at a port that its user has named.
 *
 * @param option that names the port, for the sentence: `--port`. @throws CliError if the port can't be used.
 * @example const gateway = await listening('--port', serveGateway({ gateway, port }));
 */
export async function listening<Served>(option: string, opening: Promise<Served>): Promise<Served> {
  try {
    return await opening;
  } catch (error) {
    throw listenProblem(option, error) ?? error;
  }
}

/**
 * The same of Temporal's runtime, which tells in words alone why it can't serve metrics.
 *
 * @throws CliError where nobody can listen at the port of `--metrics`.
 */
export function metricsListening(port: number | undefined, install: () => void): void {
  try {
    install();
  } catch (error) {
    if (!(error instanceof Error) || !isPrometheusPortTaken(error.message)) throw error;
    const why = `nobody can listen at port ${port}: it is in use, or not this user's: end the program that listens there, or name another port with --metrics`;
    throw new CliError(why, { cause: error });
  }
}

function isPrometheusPortTaken(message: string): boolean {
  return /prometheus/i.test(message) && /in use|permitted|denied/i.test(message);
}

function listenProblem(option: string, error: unknown): CliError | undefined {
  if (!(error instanceof Error)) return undefined;
  const {
    syscall,
    code = '',
    address = '',
    port,
  } = error as NodeJS.ErrnoException & {
    address?: string;
    port?: number;
  };
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return undefined;
  const why = {
    EADDRINUSE: `port ${port} of ${address} is in use: end the program that listens there, or name another port with ${option}`,
    EACCES: `this user may not listen on port ${port}: name one above 1023 with ${option}`,
    EADDRNOTAVAIL: `${address} is no address of this machine: name another one with --host`,
    ENOTFOUND: `the address to listen on has no IP address: name another one with --host`,
  }[code];
  return why === undefined ? undefined : new CliError(why, { cause: error });
}
