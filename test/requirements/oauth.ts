import type { Rows } from './row.ts';

/** Consent of people, and tokens of authorization servers. */
export const OAUTH: Rows = {
  'oauth.consent': [
    'adk-rs: auth_config',
    'A call without tokens waits; once its user has consented, every call that waits for them goes on, in every session.',
  ],
  'oauth.scopes': [
    'holdfast',
    'A tool with more scopes has the person asked, and what they have granted stays.',
  ],
  'oauth.refusals': [
    'holdfast',
    'Consent that is denied, late, repeated or of another account has an answer, and can be given again.',
  ],
  'oauth.attacks': [
    'holdfast',
    'A way back that is forged, mixed up, injected or opened by others keeps no tokens and wakes nobody.',
  ],
  'oauth.disconnect': ['holdfast', 'A disconnected account is given up at its server.'],
  'oauth.refresh': [
    'adk-js: OAuth2CredentialRefresher',
    'Tokens are refreshed before they end, by one worker at a time, so that no strict server logs a user out.',
  ],
  'oauth.refused': ['holdfast', 'Tokens that a server refuses are renewed once, or the person is asked.'],
  'oauth.grants': ['adk-js: ServiceAccount', 'Tokens of the app itself are taken without asking anybody.'],
  'oauth.device': ['holdfast', 'A person can consent at another device by a code.'],
  'oauth.badAnswers': [
    'holdfast',
    'A server that lies, hangs, fails or speaks HTML is told as it is, without its words.',
  ],
  'oauth.openapi': [
    'holdfast',
    'Operations of OpenAPI get tokens of a provider, of a client of their own, or of the app itself.',
  ],
  'oauth.inbox': ['holdfast', 'The inbox shows the connections of users, and ends them.'],
  'oauth.pages': [
    'holdfast',
    'A person connects an account in a browser, on a phone too, and is told for whom.',
  ],
  'oauth.kills': [
    'holdfast',
    'A gateway that dies at any point of a consent has lost nothing that its page can’t make good.',
  ],
  'oauth.secrets': [
    'holdfast',
    'No token, code, verifier or client secret is anywhere but in the sealed column.',
  ],
  'credential.keys': ['holdfast', 'Credentials are sealed anew with another key while they are used.'],
  'example.calendar': [
    'holdfast',
    'By one command a turn waits for consent to a real server, twice, its tokens are refreshed, and the account is disconnected.',
    'deep',
  ],
};
