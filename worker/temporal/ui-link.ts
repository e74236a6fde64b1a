import { workflowPage } from '../../src/protocol/temporal-ui.ts';
import { TemporalConfigInvalid } from './errors.ts';

const CLOUD_HOST = /\.(tmprl\.cloud|api\.temporal\.io)(:\d+)?$/;

/** The parts of a link into Temporal's UI; a `TemporalTarget` is one. */
export interface UiTarget {
  namespace: string;
  uiUrl?: string | undefined;
}

/**
 * The page of a workflow in Temporal's UI, or undefined if no UI is known. Without a run id the UI opens the
 * newest run.
 *
 * @example
 * workflowUrl(target, 'shop/ada/s1') // http://127.0.0.1:8233/namespaces/default/workflows/shop%2Fada%2Fs1
 */
export function workflowUrl(target: UiTarget, workflowId: string, runId?: string): string | undefined {
  const { uiUrl, namespace } = target;
  return uiUrl === undefined ? undefined : workflowPage({ uiUrl, namespace }, workflowId, runId);
}

/** The UI of a configured server: `TEMPORAL_UI_URL`, Temporal Cloud's for its addresses, else not known. */
export function configuredUiUrl(address: string, env: NodeJS.ProcessEnv): string | undefined {
  const given = env.TEMPORAL_UI_URL;
  if (given) {
    if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
      throw new TemporalConfigInvalid(
        'TEMPORAL_UI_URL is not an http or https URL. Set it to the address of the UI, for example ' +
          'http://localhost:8233, or unset it.',
      );
    }
    return given.replace(/(?<!\/)\/+$/, '');
  }
  return CLOUD_HOST.test(address) ? 'https://cloud.temporal.io' : undefined;
}
