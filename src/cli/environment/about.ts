import type { TemporalTarget } from '../../../worker/index.ts';
import type { GatewayAbout } from '../../contract/about.ts';
import { ownVersion } from '../../own-version.ts';
import { storeUrl } from './places.ts';

/** What the gateway of this process says of itself. */
export function aboutProcess(
  { namespace, uiUrl }: Pick<TemporalTarget, 'namespace' | 'uiUrl'>,
  taskQueue: string,
  env: NodeJS.ProcessEnv,
  served: Pick<GatewayAbout, 'apps' | 'agents'>,
): GatewayAbout {
  return {
    v: 1,
    version: ownVersion(),
    namespace,
    taskQueue,
    ...(uiUrl === undefined ? {} : { uiUrl }),
    store: storeUrl(env) === undefined ? 'embedded' : 'postgres',
    ...served,
  };
}
