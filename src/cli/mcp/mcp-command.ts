import { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { DefaultLogger } from '@temporalio/worker';
import { Closing } from '../../../worker/closing.ts';
import { resolveModels } from '../../agents/agents-of-tree.ts';
import { GatewayClient } from '../../client/gateway-client.ts';
import type { HoldfastApi } from '../../client/holdfast-api.ts';
import { sendMessage } from '../../contract/messages.ts';
import { loadMcpServer, mcpServerFactory } from '../../mcp/mcp-server.ts';
import { offeredTools } from '../../mcp/offered-tools.ts';
import { assertInstalled } from '../../schema/installed-package.ts';
import { offerGemini } from '../../testing/offer-gemini.ts';
import { describeError } from '../cli-error.ts';
import { openAgentsEnvironment } from '../environment/agents-environment.ts';
import { ownOrReach } from '../environment/folder-access.ts';
import { lineLogger } from '../environment/operator-log.ts';
import { needsFolder } from '../environment/places.ts';
import { stopSignals } from '../environment/stop-signals.ts';
import { folderLogger, installRuntime } from '../environment/worker-logs.ts';
import { checkOptions } from '../field-option.ts';
import { type AgentsFile, chooseApp, loadAgents } from '../load-agents.ts';

export interface McpCommandOptions {
  user: string;
  app?: string;
  folder: string;
}

/** A client that has closed its end waits for the process: running tools get a moment, and another attempt later. Milliseconds. */
const SHUTDOWN_GRACE = 1_000;

/** `holdfast mcp`: an MCP server over standard input and output, until its client closes them. Returns the exit code. */
export async function mcpCommand(file: string, options: McpCommandOptions): Promise<number> {
  checkOptions(sendMessage, { '--user': ['userId', options.user], '--app': ['app', options.app] });
  const out = protocolOutput();
  assertInstalled('holdfast mcp', '@modelcontextprotocol/server');
  const loaded = await loadAgents(file);
  resolveModels(loaded.agents);
  const tools = offeredTools(file, 'agents', loaded.gateway?.mcp?.agents ?? loaded.agents);
  const app = chooseApp(file, { app: loaded.app, isExported: loaded.apps.length > 0 }, options.app);
  const signals = stopSignals();
  const closing = new Closing();
  try {
    const { api, failed } = await openApi(file, loaded, options, closing);
    const { user: userId, folder } = options;
    const caller = { api, app, userId, folder, decides: () => true, pageOf: () => undefined };
    const onError = (error: unknown) => note(describeError(error));
    const factory = mcpServerFactory(await loadMcpServer(), { tools, onError }, () => caller);
    const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio');
    const ended = Promise.withResolvers<void>();
    process.stdin.once('end', ended.resolve).once('close', ended.resolve);
    // An owner's worker is no concern of this process.
    failed?.catch(ended.reject);
    const transport = new StdioServerTransport(process.stdin, out);
    const serving = serveStdio(factory, { transport, onerror: onError });
    // It also closes by itself, at a line that is too long: standard input isn't read any more then.
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      ended.resolve();
    };
    closing.add(() => serving.close());
    note(`offers ${tools.map(({ definition }) => definition.name).join(', ')} to MCP clients`);
    await Promise.race([ended.promise, signals.first]);
    return 0;
  } finally {
    signals.forget();
    await closing.close();
  }
}

function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Standard output for the protocol alone: what else is printed, by tools too, goes to standard error. */
function protocolOutput(): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  // Loggers write to the descriptor itself. A file's stream needs its own.
  if (stdout instanceof Socket) Object.defineProperty(stdout, 'fd', { value: stderr.fd });
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => void write(chunk, (error) => done(error)),
  });
}

/** With a worker of this process, or through the process that owns the folder. */
async function openApi(
  file: string,
  loaded: AgentsFile,
  { folder }: McpCommandOptions,
  closing: Closing,
): Promise<{ api: HoldfastApi; failed?: Promise<never> }> {
  const access = needsFolder(process.env) ? await ownOrReach(folder, note) : { ownership: undefined };
  if ('owner' in access) {
    note(`process ${access.owner.pid ?? ''} owns the folder ${folder}, and answers`);
    return { api: new GatewayClient(access.owner) };
  }
  const { ownership } = access;
  const gemini = await offerGemini(loaded.agents, loaded.geminiScript, process.env, note);
  closing.add(() => gemini?.close());
  const log = ownership && folderLogger(ownership.folder, note);
  installRuntime(log ?? new DefaultLogger('ERROR'), { handlesSignals: true });
  const environment = await openAgentsEnvironment({
    ...{ folder, ownership, file, loaded, env: process.env, grace: SHUTDOWN_GRACE, onProgress: note },
    rootAgent: loaded.rootAgent?.name,
    logger: log ?? lineLogger(note),
  });
  closing.add(() => environment.close());
  return { api: environment.client, failed: environment.failed };
}
