import type { BaseAgent } from '../agents/base-agent.ts';
import { App, isApp } from '../app/app.ts';
import { checkedPlugins } from '../plugins/plugin-list.ts';
import { isRecord } from '../protocol/json.ts';
import { type RunConfig, turnRunConfig } from '../runner/run-config.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { CliError } from './cli-error.ts';

const ADK_APP = Symbol.for('google.adk.app');

export type Exports = Record<string, unknown>;

/**
 * The export `app`.
 *
 * @throws CliError for what is no App, one under another name, and for `plugins` or `runConfig` beside it.
 */
export function exportedApp(file: string, exported: Exports): App | undefined {
  const { app } = exported;
  if (isApp(app)) {
    const beside = settingsIn(exported);
    if (beside.length === 0) return app;
    const places = { plugins: 'plugins', runConfig: 'durable: { runConfig }' };
    throw new CliError(
      `${file}: the exports app and ${beside.join(' and ')} both say how the app runs: ` +
        `put ${beside.map((name) => places[name]).join(' and ')} into the App`,
    );
  }
  if (app !== undefined) {
    throw new CliError(
      isForeignApp(app)
        ? `${file}: app is an App of another package: import App from 'holdfast' instead`
        : `${file}: the export app is no App, but ${typeof app}; write "export const app = new App({ … })"`,
    );
  }
  const name = Object.entries(exported).find(([, value]) => isApp(value) || isAdkApp(value))?.[0];
  if (name === undefined) return undefined;
  throw new CliError(`${file}: ${name} is an App: export it under the name app`);
}

/**
 * The App that the exports `plugins` and `runConfig` stand for, where there is one of them and no `app`.
 *
 * @param name of the file, without its ending.
 * @throws CliError naming the export.
 */
export function appOfSettings(
  file: string,
  exported: Exports,
  { name, rootAgent }: { name: string; rootAgent: BaseAgent | undefined },
): App | undefined {
  const settings = settingsIn(exported);
  if (settings.length === 0) return undefined;
  if (rootAgent === undefined) {
    throw new CliError(
      `${file}: ${settings.join(' and ')} need to know who answers: export that agent as rootAgent`,
    );
  }
  const { plugins, runConfig } = exported;
  try {
    return new App({
      name,
      rootAgent,
      ...(plugins === undefined ? {} : { plugins: checkedPlugins('', 'plugins', plugins) }),
      ...(runConfig === undefined ? {} : { durable: { runConfig: turnRunConfig(runConfig as RunConfig) } }),
    });
  } catch (error) {
    throw refusal(file, name, error);
  }
}

function refusal(file: string, name: string, error: unknown): unknown {
  if (error instanceof DefinitionError && error.field === 'name') {
    return new CliError(
      `${file}: its name gives the app's, and ${JSON.stringify(name)} can't be one (${error.problem}): rename it, or ` +
        'export an app: new App({ name, rootAgent, … })',
      { cause: error },
    );
  }
  if (error instanceof DefinitionError) {
    // ADK's own texts about a run config name no field.
    const isRunConfig = error.owner === 'runConfig' || (error.owner === '' && error.field === undefined);
    const field = [isRunConfig ? 'runConfig' : '', error.field ?? ''].filter(Boolean).join('.');
    return new CliError(`${file}: ${field.replace(/^durable\./, '')}: ${error.problem}`, { cause: error });
  }
  return error instanceof Error
    ? new CliError(`${file}: runConfig: ${error.message}`, { cause: error })
    : error;
}

function settingsIn({ plugins, runConfig }: Exports): ('plugins' | 'runConfig')[] {
  return [
    ...(plugins === undefined ? [] : ['plugins' as const]),
    ...(runConfig === undefined ? [] : ['runConfig' as const]),
  ];
}

function isForeignApp(value: unknown): boolean {
  return isAdkApp(value) || (isRecord(value) && value.constructor?.name === 'App');
}

function isAdkApp(value: unknown): boolean {
  return isRecord(value) && ADK_APP in value;
}
