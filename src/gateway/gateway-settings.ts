import { offeredTools } from '../mcp/offered-tools.ts';
import { PUBLIC_URL_FORM, publicUrlOf } from '../net/public-url.ts';
import { assertInstalled } from '../schema/installed-package.ts';
import { kindOf } from '../schema/kind-of.ts';
import * as option from '../schema/option-kinds.ts';
import { type OptionsFor, readGroup } from '../schema/options.ts';
import type { SlackApp } from '../slack/slack-app.ts';
import type { AccessSettings } from './access/access-settings.ts';
import { checkAccess } from './access/check-access.ts';
import type { McpServerOptions } from './mcp/options.ts';
import type { InboxOptions } from './pages/options.ts';
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
  /** Pages on which people sign in, by an API key or at an issuer, see their requests, and decide them. */
  inbox?: InboxOptions;
  /** Offers agents and tools to clients of MCP at `/mcp`. It needs the package `@modelcontextprotocol/server`. */
  mcp?: McpServerOptions;
}

const INBOX = { enabled: option.flag() } satisfies OptionsFor<InboxOptions>;

const MCP = {
  agents: (read, name) => {
    const given = read.value(name);
    const agents: unknown[] = Array.isArray(given) ? given : [];
    if (agents.length === 0) read.fail(name, `expected a list of agents, got ${kindOf(given)}`);
    offeredTools(read.owner, read.place(name), agents);
  },
  app: option.text(),
} satisfies OptionsFor<McpServerOptions>;

const GATEWAY_SETTINGS = {
  publicUrl: option.checked(option.unchecked<string>(), (url) =>
    publicUrlOf(url) === undefined ? `expected ${PUBLIC_URL_FORM}` : undefined,
  ),
  access: option.custom((access, { owner }) => checkAccess(owner, access)),
  // The class may be that of another copy of the package.
  slack: option.checked(option.unchecked<SlackApp>(), (slack) =>
    isSlackApp(slack) ? undefined : 'expected the `gateway` of what slack(…) gives',
  ),
  webhooks: option.custom((sources, { owner }) => checkSources(owner, sources)),
  inbox: option.custom((options, { owner }, field) => readGroup(INBOX, { owner, options, field })),
  mcp: option.custom((options, { owner }, field) => {
    readGroup(MCP, { owner, options, field });
    assertInstalled(owner, '@modelcontextprotocol/server');
  }),
} satisfies OptionsFor<GatewaySettings>;

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
  readGroup(GATEWAY_SETTINGS, { owner: 'defineGateway', options: settings });
  return Object.freeze({ ...settings, [GATEWAY]: true as const });
}

export function isGatewayDefinition(value: unknown): value is GatewayDefinition {
  return typeof value === 'object' && value !== null && GATEWAY in value && value[GATEWAY] === true;
}

function isSlackApp(slack: unknown): slack is SlackApp {
  return typeof slack === 'object' && slack !== null && 'signingSecrets' in slack && 'teamIds' in slack;
}
