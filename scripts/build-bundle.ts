import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { WORKFLOW_CHECKS } from '../src/contract/workflow-checks.ts';
import { bundlePath, currentStamp, formatStamp, readStamp } from '../worker/bundle.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

export const CHECKS_AS_CODE = `export const WORKFLOW_CHECKS = ${JSON.stringify(WORKFLOW_CHECKS)};\n`;

/** Contracts are written with zod, which changes its objects when it is used: modules that workflows share can't hold it. */
export const CHECKS_AS_DATA = {
  test: /[\\/]contract[\\/]workflow-checks\.ts$/,
  enforce: 'pre' as const,
  loader: join(root, 'scripts/given-code-loader.cjs'),
  options: { code: CHECKS_AS_CODE },
};

async function digestOfSources(): Promise<string> {
  const hash = createHash('sha256');
  for (const path of globSync('{workflows,src/{contract,events,protocol}}/**/*.ts', { cwd: root }).sort()) {
    hash.update(path).update(await readFile(join(root, path)));
  }
  hash.update(await readFile(fileURLToPath(import.meta.url)));
  return hash.digest('base64url').slice(0, 22);
}

/** Builds the workflow bundle that workers load, where the one that is there has other sources or another stamp. */
export async function buildBundle(): Promise<void> {
  const stamp = { ...currentStamp(), sources: await digestOfSources() };
  const present = await readStamp(bundlePath()).catch(() => undefined);
  if (present !== undefined && formatStamp(present) === formatStamp(stamp)) return;
  const workflowsPath = join(root, 'workflows/index.ts');
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    payloadConverterPath: join(root, 'workflows/payload-converter.ts'),
    workflowInterceptorModules: [join(root, 'workflows/interceptors.ts')],
    // They keep no state outside of their functions: evaluated once for a worker instead of once for every workflow.
    preloadModules: [workflowsPath],
    logger: new DefaultLogger('WARN'),
    webpackConfigHook: (config) => {
      config.module?.rules?.push(CHECKS_AS_DATA);
      return config;
    },
  });
  await mkdir(join(root, 'dist'), { recursive: true });
  const unfinished = `${bundlePath()}.${process.pid}`;
  await writeFile(unfinished, `${formatStamp(stamp)}\n${fitToShip(code)}`);
  await rename(unfinished, bundlePath());
}

/**
 * The bundle is shipped: neither its code nor its source map says where it was built. The map keeps positions, which stack traces
 * need, and no sources: each worker reads it at its start, and that takes half the time.
 */
function fitToShip(code: string): string {
  const inline = /(\/\/# sourceMappingURL=data:application\/json;charset=utf-8;base64,)([A-Za-z0-9+/=]+)/;
  const relative = (text: string) => text.replaceAll(`file://${root}`, '').replaceAll(root, '');
  return relative(code).replace(inline, (_whole, prefix: string, encoded: string) => {
    const map = JSON.parse(relative(Buffer.from(encoded, 'base64').toString()));
    return prefix + Buffer.from(JSON.stringify({ ...map, sourcesContent: undefined })).toString('base64');
  });
}
