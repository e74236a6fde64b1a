import { defined } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { CliError } from '../cli-error.ts';
import { agreement, processOutput, withProgress } from '../command-output.ts';
import { connected, connectSessions, type InFolder } from '../connect-folder.ts';
import { onlyApp } from '../sessions/named-session.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';

type Options<More = object> = InFolder<{ app?: string } & More>;

/** Milliseconds between two lines about how far it has come. */
const TOLD_EVERY = 5_000;

/** `holdfast corpora load`: what has changed in a folder. Says of each file that is skipped why. */
export async function loadCorpus(
  from: string,
  { corpus, agents, ...options }: Options<{ corpus: string; agents?: string }>,
  output = processOutput(),
): Promise<void> {
  await connected(connectSessions, options, output, async ({ api: { corpora }, apps }) => {
    const app = options.app ?? (await onlyApp(apps));
    const embeddings = agents === undefined ? undefined : await embeddingsOf(agents, app);
    let told = performance.now();
    let documents = 0;
    const counts = await corpora.load({
      ...{ app, corpus, folder: from },
      ...defined({ embeddings }),
      onDocument: ({ path, problem }) => {
        documents += 1;
        if (problem !== undefined) output.note(`skipped ${visibleExcerpt(path, 200)}: ${problem}`);
        if (performance.now() - told < TOLD_EVERY) return;
        told = performance.now();
        output.note(`${documents} documents so far …`);
      },
    });
    if (options.json) return output.json(counts);
    const { loaded, unchanged, removed, skipped } = counts;
    output.line(
      `${corpus}: ${loaded} loaded, ${unchanged} unchanged, ${removed} removed, ${skipped} skipped`,
    );
  });
}

async function embeddingsOf(file: string, app: string) {
  const { loadAgents } = await import('../load-agents.ts');
  const { apps } = await loadAgents(file);
  const found = apps.find(({ name }) => name === app)?.durable.memory?.embeddings;
  if (found !== undefined) return found;
  throw new CliError(`--agents: ${file} exports no app ${app} with durable.memory.embeddings: leave it out`);
}

/** `holdfast corpora list`: the corpora of an app. */
export async function listCorpora(options: Options, output = processOutput()): Promise<void> {
  await connected(connectSessions, options, output, async ({ api, apps }) => {
    const app = options.app ?? (await onlyApp(apps));
    const corpora = await withProgress(output, 'reading corpora', api.corpora.list(app));
    if (options.json) return output.json({ corpora });
    if (corpora.length === 0) return output.note(`no corpora in app ${app}`);
    const rows = corpora.map((row) => [
      row.corpus,
      `${row.documents}`,
      `${row.passages}`,
      ago(row.updatedAt),
    ]);
    const columns = ['CORPUS', { right: 'DOCUMENTS' }, { right: 'PASSAGES' }, 'CHANGED'];
    for (const line of tableLines(columns, rows)) output.line(line);
  });
}

/** `holdfast corpora remove`: a corpus, or one of its documents. Returns the exit code. */
export async function removeCorpus(
  corpus: string,
  path: string | undefined,
  options: Options<{ yes?: boolean }>,
  output = processOutput(),
): Promise<number> {
  const agrees = agreement('this', options, output);
  return await connected(connectSessions, options, output, async ({ api: { corpora }, apps }) => {
    const app = options.app ?? (await onlyApp(apps));
    const shown = path === undefined ? 'all documents' : visibleExcerpt(path, 60);
    if (!(await agrees(`Remove ${shown} of corpus ${corpus} of app ${app}?`))) return 1;
    const removing = corpora.remove({ app, corpus, ...defined({ path }) });
    const removed = await withProgress(output, 'removing', removing);
    if (options.json) output.json({ removed });
    else output.line(`removed ${removed} ${removed === 1 ? 'document' : 'documents'} of ${corpus}`);
    return 0;
  });
}
