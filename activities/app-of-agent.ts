import type { ActivityDependencies } from './dependencies.ts';
import type { Deployment } from './deployment.ts';
import { type NamedAgent, rootNamed } from './find-agent.ts';
import { NotDeployedHere } from './not-deployed-here.ts';
import { hasNotRun, type TriedCall } from './tool/call-retry.ts';

/** An agent of an App is named in a session of another app, which has other plugins, budgets and issuers, or none. */
export class AgentOfAnotherApp extends NotDeployedHere {
  override readonly code = 'HOLDFAST_AGENT_OF_ANOTHER_APP';
  override readonly retryable = false;
  override readonly name = 'AgentOfAnotherApp';

  constructor(agent: string, owners: readonly string[], app: string) {
    super('agent', agent, []);
    const [named, of, own] = [agent, app, ...owners].map((name) => JSON.stringify(name.slice(0, 128)));
    const others = owners.length > 1 ? ` and ${owners.length - 1} more` : '';
    this.message =
      `agent ${named} belongs to app ${own}${others}, and this session is one of app ${of}: ` +
      `send the message to a session of app ${own}`;
  }
}

/**
 * Messages, and the inputs of activities, can name any agent of the worker. One whose root an App has brings nothing of that App along: it
 * runs in the sessions of apps whose root that is, and nowhere else. Those that a worker has without an App serve each app.
 *
 * @throws AgentOfAnotherApp; NotDeployedHere for an agent that is named without its root, and that nobody here has.
 */
export function assertOfApp(deployment: Deployment, app: string, named: NamedAgent): void {
  const refused = refusalOf(deployment, app, named);
  if (refused !== undefined) throw refused;
}

/**
 * That of a call which has just begun: an attempt that it ends has run nothing.
 *
 * @throws AgentOfAnotherApp
 */
export async function assertCallOfApp(
  { deployment, store }: Pick<ActivityDependencies, 'deployment' | 'store'>,
  call: Pick<TriedCall, 'input' | 'begun'>,
): Promise<void> {
  const refused = refusalOf(deployment, call.begun.names.app, call.input);
  if (refused === undefined) return;
  await hasNotRun({ store }, call, refused);
  throw refused;
}

/** @throws NotDeployedHere as {@link assertOfApp} does. */
export function isOfApp(deployment: Deployment, app: string, named: NamedAgent): boolean {
  return refusalOf(deployment, app, named) === undefined;
}

function refusalOf(deployment: Deployment, app: string, named: NamedAgent): AgentOfAnotherApp | undefined {
  const { apps } = deployment;
  // The tools of another app's factories are its own, too.
  const hop = named.within?.find(({ made }) => made !== undefined && made.app !== app);
  if (hop?.made !== undefined) return new AgentOfAnotherApp(hop.tool, [hop.made.app], app);
  const root = rootNamed(deployment, named);
  if (apps.get(app)?.rootAgent.name === root) return undefined;
  const owners = [...apps.values()].filter(({ rootAgent }) => rootAgent.name === root);
  if (owners.length === 0) return undefined;
  return new AgentOfAnotherApp(
    named.agent,
    owners.map(({ name }) => name),
    app,
  );
}
