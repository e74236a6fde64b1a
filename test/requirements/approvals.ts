import type { Rows } from './row.ts';

/** Human in the loop: gates, signals, votes, audit. */
export const APPROVALS: Rows = {
  'confirm.require': [
    'adk-go: Human-in-the-Loop Confirmation',
    'A flag, predicate or provider gates a call; a provider overrides the flag.',
  ],
  'confirm.inside': ['adk-go: RequestConfirmation', 'A tool asks from inside, and goes on with the answer.'],
  'confirm.toolset': ['adk-go: WithConfirmation', 'A toolset is gated as a whole.'],
  'confirm.hint': ['adk-rs: confirmation_hint', 'A request has a hint, by default naming the tool.'],
  'confirm.approval': [
    'hector: RequiresApproval',
    '`requiresApproval` and an approval tool are the same gate.',
  ],
  'confirm.events': [
    'adk-js: adk_request_confirmation',
    'A request is an event with the original call, without placeholder responses.',
  ],
  'confirm.reply': ['adk-js: adk_request_confirmation', "ADK's reply forms decide."],
  'confirm.malformed': [
    'adk-js: adk_request_confirmation',
    'A malformed approval by message leaves the request open, and its sender an error that names the field.',
  ],
  'confirm.original': ['adk-go: OriginalCallFrom', 'The original call is read from a request, typed or raw.'],
  'confirm.rejected': ['adk-js: tool confirmation', "A rejection is the tool's response."],
  'confirm.siblings': ['adk-python: #6732', 'Siblings run meanwhile and keep their results.'],
  'confirm.many': ['adk-python: #3018', 'Several requests wait at once and are answered in any order.'],
  'confirm.once': ['adk-python: #6198', 'An approval is bound to call and arguments, and consumed once.'],
  'confirm.default': ['adk-python: #7148', 'Every gated tool waits; no tool runs after a rejection.'],
  'confirm.callbacks': [
    'adk-js: beforeToolCallback',
    'Callbacks of a gated call run once, before the gate; the approver sees what will run.',
  ],
  'confirm.reserved': ['adk-js: RESERVED names', 'Calls with reserved names from outside are refused.'],
  'confirm.signal': ['temporal: signals', 'An operator decides by a plain signal or an update that answers.'],
  'confirm.answered': ['adk-python: #3506', 'A request that was answered is not shown as open again.'],
  'approval.approvers': [
    'holdfast',
    'Only attested decisions of approvers count; the requester can be barred.',
  ],
  'approval.proven': [
    'holdfast',
    'Where decisions count by signatures, a tool starts only by those that the store has, verified again by the worker that starts it.',
  ],
  'approval.requester': [
    'holdfast',
    'The requester of a call is known by their signed message, in its own turn, in its time.',
  ],
  'approval.quorum': ['holdfast', 'A quorum is of different people.'],
  'approval.expiry': ['holdfast', 'Requests expire, escalate, reject or approve by policy.'],
  'approval.edit': ['holdfast', 'Edited arguments are validated and recorded as before and after.'],
  'approval.audit': ['holdfast', 'Every request, vote, edit and expiry is a row of a hash chain.'],
  'approval.audit.signed': [
    'holdfast',
    'Each person that the audit names as verified has signed: rows without a valid signature are named.',
  ],
  'approval.list': ['holdfast', 'Approvals are listed, shown and decided from the command line.'],
  'approval.notify': ['holdfast', 'People are notified without blocking the request.'],
  'input.request': [
    'adk-js: adk_request_input',
    'A model or tool asks a person for input, checked by a schema.',
  ],
  'schema.linear': [
    'holdfast',
    'Patterns of JSON Schemas run in an engine whose time grows with the text only, and mean what they mean in JavaScript.',
  ],
  'schema.outside': [
    'holdfast',
    'No schema of a model, a server or a person, and no value, keeps a worker: both are bounded, and to check one by the other has an end.',
  ],
  'text.linear': [
    'holdfast',
    'No regular expression of Holdfast takes time that grows with the square of what somebody else has written.',
  ],
  'tool.deep': [
    'holdfast',
    'Values nested in thousands of levels are refused where they come in, with the sender’s name; the model can call again.',
  ],
  'input.choice': [
    'adk-python: get_user_choice',
    'A person chooses from what is offered, by `{choice}` and `{result}` too.',
  ],
  'credential.request': [
    'adk-rs: auth_config',
    'A tool that needs a credential waits for it: confirmation, credential, run.',
  ],
  'credential.adk': [
    'adk-js: adk_request_credential',
    'Clients of ADK show the consent page and answer with the way back; a way back that fails, or is of another request, leaves the request open.',
  ],
  'credential.handler': [
    'adk-js: AuthHandler',
    'ADK’s classes for OAuth do what they do there, with PKCE, and put no secret into a state.',
  ],
  'credential.secret': ['temporal: sdk-typescript#2120', 'A secret reaches the tool and no history.'],
  'run.noWait': ['holdfast', 'The command asks at a gate, waits, or exits with 3.'],
  'example.refunds': [
    'holdfast',
    'One command shows refunds that wait for one person over 100, for two over 1,000, and are paid once.',
    'deep',
  ],
};
