import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endServer } from '../setup/end-server.ts';
import { putStore } from '../setup/made-store.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A folder as a user has it: agents files of its own, and `holdfast` among its packages. */
export class UserProject {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-project-')));
  /** Its `.holdfast`. */
  readonly folder = join(this.path, '.holdfast');

  constructor() {
    const packages = join(this.path, 'node_modules');
    mkdirSync(packages);
    symlinkSync(root, join(packages, 'holdfast'));
    symlinkSync(join(root, 'node_modules', 'zod'), join(packages, 'zod'));
    this.write('package.json', '{"type":"module"}');
    mkdirSync(this.folder, { mode: 0o700 });
    putStore(this.folder);
  }

  /** Returns its path. */
  write(name: string, content: string): string {
    const path = join(this.path, name);
    writeFileSync(path, content);
    return path;
  }

  /** Ends the Temporal server of its folder, too. */
  async remove(): Promise<void> {
    await endServer(this.folder);
    rmSync(this.path, { recursive: true, force: true });
  }
}
