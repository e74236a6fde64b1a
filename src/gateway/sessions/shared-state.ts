import { demand, subjectOf } from '../access/screen.ts';
import type { GatewayContext } from '../gateway-app.ts';

const OF_ALL_USERS = 'app:';

/**
 * State of the app is that of all its users: only who may run turns of all of them writes it.
 *
 * @throws RequestRefused
 */
export function demandSharedState(
  context: GatewayContext,
  app: string,
  state: Readonly<Record<string, unknown>> | null | undefined,
): void {
  if (Object.keys(state ?? {}).some((key) => key.startsWith(OF_ALL_USERS))) {
    demand(context, 'run', subjectOf({ app }));
  }
}
