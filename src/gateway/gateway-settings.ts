import { offeredTools } from '../mcp/offered-tools.ts';
import { PUBLIC_URL_FORM, publicUrlOf } from '../net/public-url.ts';
import { assertInstalled } from '../schema/installed-package.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { OptionReader } from '../schema/option-reader.ts';
import type { SlackApp } from '../slack/slack-app.ts';
import type { AccessSettings } from './access/access-settings.ts';
import { checkAccess } from './access/check-access.ts';
import { MCP_OPTIONS, type McpServerOptions } from './mcp/options.ts';
import { INBOX_OPTIONS, type InboxOptions } from './pages/options.ts';
import { checkSources } from './webhooks/check-sources.ts';
import type { WebhookSources } from './webhooks/options.ts';

const GATEWAY = Symbol.for('holdfast.gateway');

/** How a gateway is configured, wherever it is served. */
export interface GatewaySettings {
  /**
   * Address at which people and services reach the gateway: `https://agents.example.com`; of http for this machine alone. `HOLDFAST_PUBLIC_URL`
   * counts before it. With it the gateway may listen where other machines reach it.
   */
  publicUrl?: string;
  /** Rules for callers of other machines. */
  access?: AccessSettings;
  /** Takes clicks, commands and replies from Slack: the `gateway` of `slack(…)` in `holdfast/slack`. */
  slack?: SlackApp;
  /** Services that send events by `POST /v1/webhooks/<name>`. */
  webhooks?: WebhookSources;
  /** Pages on which people sign in by an API key, see their requests, and decide them. */
  inbox?: InboxOptions;
  /** Offers agents and tools to clients of MCP at `/mcp`. It needs the package `@modelcontextprotocol/server`. */
  mcp?: McpServerOptions;
}

const SETTINGS: readonly string[] = [
  'publicUrl',
  'access',
  'slack',
  'webhooks',
  'inbox',
  'mcp',
] satisfies (keyof GatewaySettings)[];

/** The result of {@link defineGateway}. */
export interface GatewayDefinition extends Readonly<GatewaySettings> {
  readonly [GATEWAY]: true;
}

/**
 * Configures the gateway that `holdfast dev`, `holdfast run` and `holdfast worker` serve beside the agents of a file, and
 * `holdfast gateway --config FILE` for itself: the file exports it as `gateway`.
 *
 * @throws DefinitionError naming the field that is wrong.
 * @example
 * export const gateway = defineGateway({ publicUrl: 'https://agents.example.com' });
 */
export function defineGateway(settings: GatewaySettings): GatewayDefinition {
  const owner = 'defineGateway';
  assertKnownFields(owner, settings, SETTINGS);
  const read = new OptionReader(owner, settings);
  if (read.given('publicUrl') && publicUrlOf(settings.publicUrl) === undefined) {
    read.fail('publicUrl', `expected ${PUBLIC_URL_FORM}`);
  }
  if (settings.access !== undefined) checkAccess(owner, settings.access);
  // Of whichever copy of the package.
  if (read.given('slack') && !isSlackApp(settings.slack)) {
    read.fail('slack', 'expected the `gateway` of what slack(…) gives');
  }
  if (settings.webhooks !== undefined) checkSources(owner, settings.webhooks);
  if (settings.inbox !== undefined) {
    assertKnownFields(owner, settings.inbox, INBOX_OPTIONS, { field: 'inbox' });
    new OptionReader(owner, settings.inbox, 'inbox').boolean('enabled', true);
  }
  if (read.given('mcp')) checkMcp(owner, settings.mcp);
  return Object.freeze({ ...settings, [GATEWAY]: true as const });
}

function checkMcp(owner: string, mcp: unknown): void {
  assertKnownFields(owner, mcp, MCP_OPTIONS, { field: 'mcp' });
  const read = new OptionReader(owner, mcp, 'mcp');
  const agents: unknown[] = Array.isArray(mcp.agents) ? mcp.agents : [];
  if (agents.length === 0) read.fail('agents', `expected a list of agents, got ${kindOf(mcp.agents)}`);
  offeredTools(owner, 'mcp.agents', agents);
  if (read.given('app')) read.text('app');
  assertInstalled(owner, '@modelcontextprotocol/server');
}

export function isGatewayDefinition(value: unknown): value is GatewayDefinition {
  return typeof value === 'object' && value !== null && GATEWAY in value && value[GATEWAY] === true;
}

function isSlackApp(slack: unknown): slack is SlackApp {
  return typeof slack === 'object' && slack !== null && 'signingSecrets' in slack && 'teamIds' in slack;
}
