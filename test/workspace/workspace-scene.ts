import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ArtifactBytes } from '../../src/artifacts/artifact-bytes.ts';
import { SavedArtifacts } from '../../src/artifacts/saved-artifacts.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { Context } from '../../src/tools/context.ts';
import { fileTools } from '../../src/tools/workspace/file-tools.ts';
import { Workspace, type WorkspaceOptions, type WorkspaceUse } from '../../src/tools/workspace/workspace.ts';
import { contextWith } from '../definitions/tool-context.ts';
import { databaseWithStore } from '../setup/own-database.ts';

/** The store of a database, and calls of sessions whose artifacts are recorded as they are saved. */
export class WorkspaceScene {
  readonly url: string;
  readonly store: Store;
  readonly #close: () => Promise<void>;
  readonly #folders: string[] = [];

  private constructor(url: string, store: Store, close: () => Promise<void>) {
    this.url = url;
    this.store = store;
    this.#close = close;
  }

  static async open(): Promise<WorkspaceScene> {
    const database = await databaseWithStore();
    const store = await openStore(database);
    return new WorkspaceScene(database.url, store, async () => {
      await store.close();
      await database.drop();
    });
  }

  newFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-workspace-'));
    this.#folders.push(folder);
    return folder;
  }

  /** A workspace of another worker than all others. */
  newWorkspace(options: WorkspaceOptions = {}): Workspace {
    return new Workspace({ folder: this.newFolder(), ...options });
  }

  async close(): Promise<void> {
    await this.#close();
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
  }
}

/** Its folder is there as a command has left it. */
export class CommandedWorkspace extends Workspace {
  readonly root: string;

  constructor(root: string) {
    super();
    this.root = root;
  }

  override async use<T>(_call: Context, work: (root: string, use: WorkspaceUse) => Promise<T>): Promise<T> {
    return await work(this.root, { lost: [] });
  }
}

export function callIn(store: Store, sessionId: string): Context {
  const names = { app: 'shop', userId: 'ada', sessionId };
  const of = { store, bytes: new ArtifactBytes(store.blobs), app: 'shop' };
  return contextWith({ sessionId, artifacts: SavedArtifacts.atOnce(of, names, randomUUID()) });
}

/** Calls a file tool. @returns its result, or the message of its error */
export async function callTool(
  workspace: Workspace,
  name: string,
  args: Record<string, unknown>,
  toolContext: Context,
): Promise<unknown> {
  const tool = fileTools({ workspace }).find((each) => each.name === name);
  return await tool?.runAsync({ args, toolContext }).catch((error: Error) => error.message);
}

/** Texts of files by their paths. */
export async function filesIn(root: string): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const read = files.map(async (file) => [file.slice(root.length + 1), await readFile(file, 'utf8')]);
  return Object.fromEntries(await Promise.all(read));
}

export async function filesOf(workspace: Workspace, call: Context): Promise<Record<string, string>> {
  return await workspace.use(call, (root) => filesIn(root));
}
