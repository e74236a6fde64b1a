export type { GatewayAbout } from '../contract/about.ts';
export type { EventPage } from '../contract/events.ts';
export type { Permission } from '../contract/lists.ts';
export type {
  Access,
  AccessRequest,
  Need,
  Principal,
  Refusal,
  Verdict,
} from './access/access.ts';
export type { AccessSettings } from './access/access-settings.ts';
export { ApiKeys, type ApiKeysOptions } from './access/api-keys.ts';
export { type ConfiguredAccessOptions, configuredAccess } from './access/configured-access.ts';
export { IssuerUnreachable } from './access/issuer-unreachable.ts';
export { jwtCheck } from './access/jwt-check.ts';
export { type LocalAccessOptions, localAccess } from './access/local-access.ts';
export { type NetworkAccessOptions, networkAccess, type TokenCheck } from './access/network-access.ts';
export type { GrantsByClaim, TrustedIssuer } from './access/trusted-issuer.ts';
export { createGateway, type Gateway } from './create-gateway.ts';
export type { ErrorBody } from './error-answer.ts';
export { GatewayNotLocal } from './gateway-errors.ts';
export type { GatewayLogger } from './gateway-logger.ts';
export type { GatewayOptions } from './gateway-options.ts';
export type { GatewayRecords } from './gateway-records.ts';
export { defineGateway, type GatewayDefinition, type GatewaySettings } from './gateway-settings.ts';
export { type Readiness, readiness } from './health/readiness.ts';
export type { TurnLinks, TurnView } from './pages/links.ts';
export type { InboxOptions } from './pages/options.ts';
export { type ServedGateway, type ServeOptions, serveGateway } from './serve-gateway.ts';
export type {
  ByPerson,
  VerifiedWebhook,
  VerifyWebhook,
  WebhookAnswer,
  WebhookEvent,
  WebhookHoldfast,
  WebhookRequest,
  WebhookSource,
  WebhookSources,
} from './webhooks/options.ts';
export { WebhookNotReady } from './webhooks/webhook-not-ready.ts';
