import type { Rows } from './row.ts';

/** Channels: gateway with authentication, links, inbox, webhooks, Slack. */
export const CHANNELS: Rows = {
  'auth.keys': ['holdfast', 'API keys with scopes are hashed, shown once and rotated.'],
  'auth.oidc': ['holdfast', 'Tokens of issuers are verified; the user comes from the principal.'],
  'auth.roles': ['holdfast', 'Run, read, approve and operate are granted per app; others see nothing.'],
  'auth.network': [
    'holdfast',
    'A gateway is reached by its own names only, and by no page of another origin; beyond loopback each caller authenticates.',
  ],
  'auth.limits': ['holdfast', 'Callers have limits of their own, and strangers lock nobody out.'],
  'auth.denials': ['holdfast', 'Refusals are noted for 30 days, and a storm of them writes little.'],
  'auth.config': [
    'holdfast',
    'The export `gateway` of a file configures the gateway, wherever it is served.',
  ],
  'gateway.answers': [
    'holdfast',
    'A message decides only if its sender may approve, and ends jobs only if its sender may operate.',
  ],
  'gateway.shown': ['holdfast', 'A decision is about the request that was shown, or refused.'],
  'gateway.approvals': ['holdfast', 'Approvals, inputs and jobs are listed and decided over HTTP.'],
  'link.once': ['holdfast', 'A signed link decides once, by POST, for one approver.'],
  'link.signed': ['holdfast', 'A link names one request and one person, and lives a week at most.'],
  'link.forged': [
    'holdfast',
    'Forged, expired, foreign and truncated links are one page, which tells nothing.',
  ],
  'link.page': ['holdfast', 'A page shows all that somebody decides by, and nothing of it acts or deceives.'],
  'link.edit': [
    'holdfast',
    'Arguments are edited field by field, and the change is shown before it is sent.',
  ],
  'link.csrf': ['holdfast', 'Only the page itself, in the browser that it was shown in, decides.'],
  'link.amount': ['holdfast', 'Arguments are shown as they run; a number of cents has its amount beside it.'],
  'inbox.reach': ['holdfast', 'On a phone Approve and Reject stay in view, and cover nothing.'],
  'inbox.undo': ['holdfast', 'Within five seconds a decision can be taken back, and nothing was sent.'],
  'inbox.session': ['holdfast', 'Somebody is signed in for 12 hours, or an hour after the last request.'],
  'inbox.issuers': [
    'holdfast',
    'People sign in to the inbox at an issuer, with the name and the rights that its claims give them.',
  ],
  'inbox.forged': [
    'holdfast',
    'A way back from an issuer counts once, in the browser that began it, for a token that is signed for this gateway.',
  ],
  'inbox.access': [
    'holdfast',
    'The inbox shows what its key may see, and lets it decide what it may decide.',
  ],
  'inbox.shown': ['holdfast', 'An answer is to what its page has shown, and to nothing that has come since.'],
  'inbox.guessed': ['holdfast', 'Made-up cookies cost the store little; a key has 20 sign-ins at most.'],
  'inbox.denials': ['holdfast', 'Refusals of pages are in the audit of denials, without tokens and keys.'],
  'inbox.jobs': ['holdfast', 'The inbox has jobs that run, and those that have ended.'],
  'inbox.temporal': ['holdfast', 'Links of the inbox lead to the run in Temporal’s UI that they are about.'],
  'inbox.pages': ['holdfast', 'A person sees what waits for them, without script, by keyboard and phone.'],
  'notice.ended': [
    'holdfast',
    'A receiver that was told of a request is told of its end, never before, and keeps notes to know it again.',
  ],
  'notice.outlives': [
    'holdfast',
    'A notice that a notifier could not take is tried again beside its turn, which waits ten seconds at most.',
  ],
  'notice.dead': [
    'holdfast',
    'A notice that could not be told in time is listed as a dead letter, and can be sent again.',
  ],
  'notice.forged': [
    'holdfast',
    'A made-up workflow of notices tells people of no other app’s requests, and of nothing that has not happened.',
  ],
  'webhook.out': ['holdfast', 'Events are delivered as Standard Webhooks, with back-off and dead letters.'],
  'webhook.in': ['holdfast', 'Verified webhooks confirm, complete jobs or start turns.'],
  'webhook.signatures': [
    'holdfast',
    'Signatures are those of Standard Webhooks and of Slack; forged, stale and doubled ones count for nothing.',
  ],
  'webhook.ssrf': ['holdfast', 'No delivery reaches an inner address.'],
  'process.uncaught': [
    'holdfast',
    'No error of a socket, server, child process, file, listener or timer of ours ends the process.',
  ],
  'slack.approve': ['holdfast', 'People approve, reject and edit in Slack, and see the outcome.'],
  'slack.verify': ['holdfast', 'Only Slack, and only mapped people, decide in Slack.'],
  'slack.message': [
    'holdfast',
    'A message shows what somebody decides by within Slack’s limits, and nothing of a model’s in it is markup or hidden.',
  ],
  'slack.quorum': [
    'holdfast',
    'Several of Slack’s users make a quorum, and one of them no more than one vote.',
  ],
  'slack.ended': ['holdfast', 'A message shows its request’s end, decided in any channel.'],
  'slack.shown': ['holdfast', 'A click in Slack is about what its message has shown, and nothing else.'],
  'slack.replay': ['holdfast', 'A request of Slack counts once, however often it comes.'],
  'slack.once': ['holdfast', 'A message is posted once, also where Slack is slow, or its answer is lost.'],
  'slack.outage': [
    'holdfast',
    'Slack is answered in time also during outages, and missed work of Slack or a worker is done later.',
  ],
  'slack.closing': [
    'holdfast',
    'A gateway that closes finishes the work that it has acknowledged to Slack; other requests are told to come again.',
  ],
  'slack.thread': [
    'holdfast',
    'A thread is a session for questions, answers and decisions, and no client can forge one.',
  ],
  'slack.files': [
    'holdfast',
    'An answer in Slack links to the files of its turn, for people who may read them.',
  ],
  'slack.secret': ['holdfast', 'No secret is in what is posted and logged.'],
  'slack.options': ['holdfast', 'Wrong options of Slack are named, and their values are not.'],
  'channel.attested': [
    'holdfast',
    'Workers trust the gateway with their keys about deciders and senders, and no other issuer unless it is listed.',
  ],
  'channel.race': ['holdfast', 'A decision that races over two channels counts once.'],
};
