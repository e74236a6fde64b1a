import { Closing } from '../../../worker/closing.ts';
import { workflowUrl } from '../../../worker/temporal/ui-link.ts';
import { sendMessage } from '../../contract/messages.ts';
import { workflowIdOf } from '../../protocol/identity.ts';
import { UsageError } from '../cli-error.ts';
import { withProgress } from '../command-output.ts';
import { ownAlone } from '../environment/folder-access.ts';
import { storeUrl } from '../environment/places.ts';
import { checkOptions } from '../field-option.ts';
import { agentsPath, chooseApp } from '../load-agents.ts';
import { startConversation } from './conversation.ts';
import { startDevServices } from './dev-services.ts';
import type { DevView } from './dev-view.ts';
import { JsonView } from './json-view.ts';
import { Screen } from './screen.ts';
import { shortSessionId } from './slash-commands.ts';
import { TerminalView } from './terminal-view.ts';

export interface DevOptions {
  agent?: string;
  session?: string;
  user: string;
  app?: string;
  folder: string;
  /** Port of the gateway. */
  port?: number;
  chat: boolean;
  json?: boolean;
  stopServer?: boolean;
}

/** `holdfast dev`: everything in one command, until it is told to end. Returns the exit code. */
export async function devCommand(file: string, options: DevOptions): Promise<number> {
  checkOptions(sendMessage, {
    '--session': ['sessionId', options.session],
    '--user': ['userId', options.user],
    '--app': ['app', options.app],
  });
  const path = agentsPath(file);
  const { env, stdin, stdout, stderr } = process;
  const isTyped = options.chat && stdin.isTTY && stdout.isTTY && !options.json;
  const screen = new Screen(stdout, stderr);
  const view: DevView = options.json ? new JsonView() : new TerminalView(screen, isTyped);
  const ending = Promise.withResolvers<undefined>();
  const signals = devSignals(() => ending.resolve(undefined));
  const closing = new Closing();
  const ownership = await ownAlone(options.folder, (line) => view.note(line));
  closing.add(() => ownership.release());
  try {
    // A program that writes lines into a pipe would wait for ever.
    const waitsForChange = !options.chat || isTyped;
    const starting = startDevServices(
      {
        path,
        ownership,
        env,
        port: options.port,
        view,
        waitsForChange,
        stopServer: options.stopServer ?? false,
      },
      closing,
    );
    const services = await Promise.race([starting, ending.promise]);
    // The end of the process closes connections that are being opened.
    if (services === undefined) return 130;
    const { server, client, gateway, workerPid, taskQueue, loaded } = services;
    const agents = () => {
      const { agents: roots, below = [] } = loaded();
      return [...roots.map(({ name }) => name), ...below];
    };
    if (options.agent !== undefined && !agents().includes(options.agent))
      throw new UsageError(`--agent: ${file} has no agent ${options.agent}; it has ${agents().join(', ')}`);
    const names = {
      app: chooseApp(file, { app: loaded().app, isExported: loaded().isApp === true }, options.app),
      userId: options.user,
      sessionId: options.session ?? shortSessionId(),
    };
    view.ready({
      file: path,
      folder: ownership.folder,
      loaded: loaded(),
      workerPid,
      address: server.address,
      namespace: server.namespace,
      uiUrl: server.uiUrl,
      gateway: { url: gateway.url, token: gateway.token },
      store: storeUrl(env) === undefined ? 'embedded' : 'postgres',
      taskQueue,
      session: options.chat ? names : undefined,
    });
    if (!options.chat) {
      await ending.promise;
      return 0;
    }
    const conversation = await startConversation({
      screen,
      isTyped,
      folder: ownership.folder,
      chat: {
        client,
        view,
        names,
        agent: options.agent,
        agents,
        folder: options.folder,
        linkOf: ({ app, userId, sessionId }, runId) =>
          workflowUrl(server, workflowIdOf(app, userId, sessionId), runId || undefined),
        onReload: services.reload,
      },
    });
    closing.add(() => conversation.close());
    signals.onInterrupt = () => conversation.interrupt();
    return (await Promise.race([conversation.ended, ending.promise])) ?? 0;
  } finally {
    // A second press means: don't wait.
    signals.onInterrupt = () => process.exit(130);
    await withProgress({ note: (line) => view.note(line) }, 'ending', closing.close());
    signals.forget();
  }
}

/** SIGINT, SIGTERM and SIGHUP of `holdfast dev`. */
interface DevSignals {
  /** The action of Ctrl-C in place of ending. */
  onInterrupt: (() => void) | undefined;
  forget(): void;
}

function devSignals(onEnd: () => void): DevSignals {
  const signals: DevSignals = {
    onInterrupt: undefined,
    forget() {
      process.off('SIGINT', interrupted);
      process.off('SIGTERM', onEnd);
      process.off('SIGHUP', onEnd);
    },
  };
  const interrupted = () => (signals.onInterrupt ?? onEnd)();
  process.on('SIGINT', interrupted);
  process.on('SIGTERM', onEnd);
  process.on('SIGHUP', onEnd);
  return signals;
}
