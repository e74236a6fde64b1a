/** Name, statuses and texts of an error code. */
export interface ErrorEntry {
  /** Name of the error, and of its class where it has one of its own; absent where nothing is thrown with the code. */
  readonly name?: string;
  /** HTTP status of the gateway's answer; absent where callers are not told of it: they get `HOLDFAST_GATEWAY_ERROR`. */
  readonly status?: ErrorStatus;
  /** Text for callers in the place of a missing message, or of one that only the operator may read. */
  readonly told?: string;
  /** Exit code of the `holdfast` command. @default 1 */
  readonly exit?: 2 | 130;
  /** The same may succeed later. @default false */
  readonly retryable?: true;
}

export type ErrorStatus = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 429 | 500 | 501 | 503 | 504;

const RETRYABLE = { retryable: true } as const;

/** Each code with its error, HTTP status and exit code. Its section of `docs/errors.md` is {@link sectionOf} it. */
export const ERROR_CODES = {
  // Definitions
  HOLDFAST_DEFINITION: { name: 'DefinitionError' },
  HOLDFAST_SCHEMA: { name: 'SchemaError' },
  HOLDFAST_UNKNOWN_MODEL: { name: 'UnknownModelError' },

  // Tools
  HOLDFAST_INVALID_ARGUMENTS: { name: 'InvalidArgumentsError' },
  HOLDFAST_INVALID_RESULT: { name: 'InvalidResultError' },
  HOLDFAST_AGENT_TOOL: { name: 'ToolError' },
  HOLDFAST_AGENT_FAILED: { name: 'SubAgentFailed' },
  HOLDFAST_AGENT_INTERRUPTED: { name: 'SubAgentFailed' },
  HOLDFAST_AGENT_TERMINATED: { name: 'SubAgentFailed' },
  HOLDFAST_AGENT_TIMED_OUT: { name: 'SubAgentFailed' },
  HOLDFAST_TOOL_FAILED: { name: 'ToolExecutionError', ...RETRYABLE },
  TOOL_ERROR: { name: 'ToolError', ...RETRYABLE },
  HOLDFAST_TOOL_TIMEOUT: { name: 'ToolTimeout', ...RETRYABLE },
  HOLDFAST_UNKNOWN_OUTCOME: { name: 'UnknownOutcome' },
  HOLDFAST_UNSETTLED_CALL: { name: 'UnsettledError' },
  HOLDFAST_ONCE_RESULT: { name: 'ToolError' },
  HOLDFAST_INVALID_QUERY: { name: 'ToolError' },
  HOLDFAST_FILE_REFUSED: { name: 'ToolError' },
  HOLDFAST_SNAPSHOT_FAILED: { name: 'ToolError' },
  HOLDFAST_WORKSPACE_CHANGED: { name: 'ToolError', ...RETRYABLE },
  HOLDFAST_NOT_JSON: { name: 'JsonValueError' },
  HOLDFAST_NO_CALL: { name: 'NoCallError' },
  HOLDFAST_NO_JOB: { name: 'NoJobError' },
  HOLDFAST_JOB_URL_MISSING: { name: 'ToolError' },
  HOLDFAST_JOB_KEY_MISSING: { name: 'ToolError' },
  HOLDFAST_JOB_PENDING: RETRYABLE,
  HOLDFAST_JOB_HOOK_TIMEOUT: { name: 'HookTooLate', ...RETRYABLE },
  HOLDFAST_JOB_HOOK_FAILED: RETRYABLE,
  HOLDFAST_JOB_LOST: { name: 'JobLost' },
  HOLDFAST_RESERVED_STATE_KEY: { name: 'ReservedStateKey' },
  HOLDFAST_STATE_SCHEMA: { name: 'StateSchemaError' },
  HOLDFAST_TRANSCRIPT_NOT_LOADED: { name: 'TranscriptNotLoaded' },
  HOLDFAST_SERVICE_MISSING: { name: 'ServiceMissing' },
  HOLDFAST_GATE_FAILED: { name: 'ToolError' },
  HOLDFAST_TOOL_CHANGED: { name: 'ToolChanged' },
  HOLDFAST_APPROVAL_NOT_PROVEN: { name: 'ApprovalNotProven' },
  HOLDFAST_MISPLACED_STEP: { name: 'MisplacedStep' },
  ApprovalsChanging: RETRYABLE,
  HOLDFAST_NEVER_ANSWERED: { name: 'NeverAnswered' },
  HOLDFAST_ASKS_TOO_OFTEN: { name: 'AsksTooOften' },
  HOLDFAST_ATTEMPT_REPLACED: { name: 'AttemptReplaced', ...RETRYABLE },
  HOLDFAST_INPUT_PENDING: { name: 'InputPending', ...RETRYABLE },
  HOLDFAST_INPUT_MISMATCH: { name: 'ToolError' },
  HOLDFAST_TOO_MANY_CHUNKS: { name: 'TooManyChunks' },
  HOLDFAST_NO_SANDBOX: { name: 'ToolError' },
  HOLDFAST_MCP_UNAVAILABLE: { name: 'McpUnavailable', ...RETRYABLE },
  HOLDFAST_MCP_REFUSED: { name: 'McpRefused' },
  HOLDFAST_HTTP_STATUS: { name: 'ToolError' },
  HOLDFAST_OPENAPI_DOCUMENT: { name: 'DocumentProblem' },
  HOLDFAST_NO_CREDENTIALS: { name: 'ToolError' },

  // Models
  HOLDFAST_MODEL_RATE_LIMITED: { name: 'ModelError', ...RETRYABLE },
  HOLDFAST_MODEL_UNAVAILABLE: { name: 'ModelError', ...RETRYABLE },
  HOLDFAST_MODEL_TIMEOUT: { name: 'ModelError', ...RETRYABLE },
  HOLDFAST_MODEL_CONFLICT: { name: 'ModelError', ...RETRYABLE },
  HOLDFAST_MODEL_NETWORK: { name: 'ModelError', ...RETRYABLE },
  HOLDFAST_MODEL_AUTHENTICATION: { name: 'ModelError' },
  HOLDFAST_MODEL_BAD_REQUEST: { name: 'ModelError' },
  HOLDFAST_MODEL_NOT_FOUND: { name: 'ModelError' },
  HOLDFAST_MODEL_ABORTED: { name: 'ModelError' },
  HOLDFAST_MODEL_RESPONSE: {},
  HOLDFAST_MODEL_UNKNOWN: { name: 'ModelError' },
  HOLDFAST_TEMPLATE_VALUE: { name: 'MissingTemplateValue' },
  HOLDFAST_INSTRUCTION_FAILED: { name: 'InstructionFailed', ...RETRYABLE },
  HOLDFAST_PLUGIN_FAILED: { name: 'PluginFailed', ...RETRYABLE },
  HOLDFAST_CALLBACK_FAILED: { name: 'CallbackFailed', ...RETRYABLE },
  HOLDFAST_TOOLSET_FAILED: { name: 'ToolsetFailed', ...RETRYABLE },
  HOLDFAST_TOOL_FACTORY: { name: 'ToolFactoryFailed', ...RETRYABLE },
  HOLDFAST_SCHEMA_MISMATCH: { name: 'SchemaMismatch' },
  HOLDFAST_UNEXPECTED: RETRYABLE,

  // Turns
  LLM_CALLS_LIMIT_EXCEEDED: {},
  MAX_ITERATIONS_EXCEEDED: {},
  SUB_AGENT_FAILED: {},
  HOLDFAST_AGENT_LOST: {},
  HOLDFAST_SUB_AGENT_FAILED: { name: 'SubAgentFailed' },
  HOLDFAST_TREE_TOO_DEEP: {},
  HOLDFAST_CUSTOM_AGENT_DIVERGED: { name: 'CustomAgentDiverged' },
  HOLDFAST_UNMATCHED_RESPONSE: {},
  HOLDFAST_BUDGET_EXCEEDED: { name: 'OutOfTime' },
  HOLDFAST_PRICE_MISSING: {},
  HOLDFAST_TURN_QUOTA: RETRYABLE,
  CANCELLED: {},
  TERMINATED: {},
  TIMED_OUT: {},
  UNKNOWN: {},
  UNKNOWN_ERROR: {},
  HOLDFAST_UNUSABLE_RESULT: {},
  HOLDFAST_MESSAGE_REJECTED: { name: 'MessageRejected', status: 409, ...RETRYABLE },
  HOLDFAST_MESSAGE_TOO_LARGE: { name: 'MessageTooLarge', status: 413 },
  HOLDFAST_INVALID_TURN: { name: 'InvalidTurn', status: 400 },
  HOLDFAST_STORE_NEEDED: { name: 'StoreNeeded', status: 501, told: 'this gateway has no store' },
  HOLDFAST_TURN_RUNNING: { name: 'TurnRunning', status: 409, ...RETRYABLE },
  HOLDFAST_NO_ANSWER: { name: 'NoAnswer', status: 504, ...RETRYABLE },
  HOLDFAST_FOLLOWER_TOO_SLOW: { name: 'FollowerTooSlow', status: 409, ...RETRYABLE },
  HOLDFAST_UNKNOWN_CALL: { name: 'UnknownCall', status: 404 },
  HOLDFAST_REQUEST_NOT_FOUND: { name: 'RequestNotFound', status: 404 },
  HOLDFAST_REQUEST_NOT_PENDING: { name: 'RequestNotPending', status: 409 },
  HOLDFAST_AMBIGUOUS_REQUEST: { name: 'AmbiguousRequest', status: 409 },
  HOLDFAST_DECISION_REFUSED: { name: 'DecisionRefused', status: 409 },
  HOLDFAST_JOB_NOT_FOUND: { name: 'JobNotFound', status: 404 },
  HOLDFAST_JOB_TOKEN_REFUSED: { name: 'JobTokenRefused', status: 401 },
  HOLDFAST_INVALID_JOB: { name: 'InvalidJob', status: 400 },
  HOLDFAST_JOB_ENDED: { name: 'JobHasEnded', status: 409 },
  HOLDFAST_NOT_DEPLOYED_HERE: { name: 'NotDeployedHere', ...RETRYABLE },
  HOLDFAST_AGENT_OF_ANOTHER_APP: { name: 'AgentOfAnotherApp' },
  TurnFailed: {},
  InvalidStart: {},
  InvalidTurn: {},
  AgentTurnFailed: { name: 'AgentTurnFailed' },
  AgentTurnInterrupted: { name: 'AgentTurnInterrupted' },
  JobFailed: { name: 'JobFailed' },
  ConfirmFailed: {},
  HOLDFAST_NO_TOOLS: {},
  HOLDFAST_TURN_PENDING: RETRYABLE,
  InvalidMessage: {},
  InvalidState: {},
  InvalidJob: {},
  InvalidProgress: {},
  AmbiguousJob: {},
  InvalidInterrupt: {},
  UnknownCall: {},
  NotPending: {},
  AmbiguousRequest: {},
  AlreadyAnswered: {},
  RequestExpired: {},
  OtherRequest: {},
  InvalidDecision: {},
  RawSecret: {},
  ToolFailed: RETRYABLE,
  WorkerShutdown: RETRYABLE,
  UndecodableResult: {},

  // Approvals and credentials
  HOLDFAST_INVALID_APPROVER_KEY: { name: 'InvalidApproverKey' },
  HOLDFAST_NOTIFIER_FAILED: { name: 'NotifierFailed', ...RETRYABLE },
  HOLDFAST_NOTIFIER_BUSY: { name: 'StillTelling', ...RETRYABLE },
  HOLDFAST_NOTICE_NOT_RECORDED: { name: 'NotRecorded', ...RETRYABLE },
  HOLDFAST_NOT_A_NOTICE: { name: 'NotANotice' },
  HOLDFAST_NOTICE_FAILED: { name: 'NoticeFailed', ...RETRYABLE },
  NoticeFailed: RETRYABLE,
  HOLDFAST_NOTE_REFUSED: { name: 'NoteRefused' },
  HOLDFAST_ADDRESS_REFUSED: { name: 'AddressRefused' },
  HOLDFAST_FETCH_FAILED: { name: 'FetchFailed', ...RETRYABLE },
  HOLDFAST_PAGE_UNREADABLE: { name: 'PageUnreadable' },
  HOLDFAST_SLACK_FAILED: { name: 'SlackFailed', ...RETRYABLE },
  HOLDFAST_SLACK_PERSON_LATE: { name: 'SlackPersonLate', ...RETRYABLE },
  HOLDFAST_SLACK_MESSAGE_UNKNOWN: { name: 'SlackMessageUnknown', ...RETRYABLE },
  HOLDFAST_SLACK_SECRET_MISSING: { name: 'SlackSecretMissing', ...RETRYABLE },
  HOLDFAST_INVALID_CREDENTIAL: { name: 'InvalidCredential', status: 400 },
  HOLDFAST_INVALID_CREDENTIAL_KEYS: { name: 'InvalidCredentialKeys' },
  HOLDFAST_CREDENTIAL_KEY_MISSING: {
    name: 'CredentialKeyMissing',
    status: 501,
    told: 'this gateway has no key to encrypt credentials with: its operator sets HOLDFAST_CREDENTIAL_KEYS',
    ...RETRYABLE,
  },
  HOLDFAST_CREDENTIAL_UNREADABLE: { name: 'CredentialUnreadable', ...RETRYABLE },
  HOLDFAST_OAUTH_FAILED: { name: 'OAuthFailed', status: 409 },

  // Store
  HOLDFAST_STORE_UNAVAILABLE: {
    name: 'StoreUnavailable',
    status: 503,
    told: 'the store can’t be reached now: try again',
    ...RETRYABLE,
  },
  HOLDFAST_STORE_FAILED: {
    name: 'StoreFailed',
    status: 500,
    told: 'the store has failed: its operator’s log says how',
    ...RETRYABLE,
  },
  HOLDFAST_STORE_BEHIND_HISTORY: {
    name: 'StoreBehindHistory',
    status: 503,
    told: 'the store is behind: try again later',
    ...RETRYABLE,
  },
  HOLDFAST_FENCED: { name: 'Fenced' },
  HOLDFAST_MESSAGE_CONFLICT: { name: 'MessageConflict', status: 409 },
  HOLDFAST_UNSTORABLE: { name: 'Unstorable', status: 400 },
  HOLDFAST_INVALID_STORE_URL: { name: 'InvalidStoreUrl' },
  HOLDFAST_STORE_SCHEMA_MISMATCH: { name: 'StoreSchemaMismatch' },
  HOLDFAST_STORE_IN_USE: { name: 'StoreInUse' },
  HOLDFAST_SESSION_EXISTS: { name: 'SessionExists', status: 409 },
  HOLDFAST_SESSION_NOT_FOUND: { name: 'SessionNotFound', status: 404, told: 'there is no such session' },
  HOLDFAST_NOT_A_ROOT_SESSION: { name: 'NotARootSession', status: 409 },
  HOLDFAST_SESSION_HAS_FORKS: { name: 'SessionHasForks', status: 409 },
  HOLDFAST_NO_SUCH_PLACE: { name: 'NoSuchPlace', status: 404 },
  HOLDFAST_UNKNOWN_JOB: { name: 'UnknownJob' },

  // Memory
  HOLDFAST_INVALID_MEMORY: { name: 'InvalidMemory' },
  HOLDFAST_MEMORY_SERVICE_FAILED: { name: 'MemoryServiceFailed', ...RETRYABLE },
  HOLDFAST_EMBEDDINGS_FAILED: { name: 'EmbeddingsFailed', ...RETRYABLE },
  HOLDFAST_NO_SUCH_CORPUS: { name: 'ToolError' },

  // Artifacts
  HOLDFAST_INVALID_ARTIFACT_NAME: { name: 'InvalidArtifactName', status: 400 },
  HOLDFAST_INVALID_ARTIFACT: { name: 'InvalidArtifact', status: 400 },
  HOLDFAST_NO_SUCH_ARTIFACT: { name: 'NoSuchArtifact', status: 404 },
  HOLDFAST_ARTIFACT_ELSEWHERE: { name: 'ArtifactElsewhere', status: 409 },
  HOLDFAST_ARTIFACT_TOO_LARGE: { name: 'ArtifactTooLarge', status: 413 },
  HOLDFAST_ARTIFACT_CORRUPT: { name: 'ArtifactCorrupt', status: 500 },
  HOLDFAST_ARTIFACT_SERVICE_FAILED: { name: 'ArtifactServiceFailed' },
  HOLDFAST_ARTIFACT_COLLECTED: { name: 'ArtifactCollected' },
  HOLDFAST_BUCKET_FAILED: {
    name: 'BucketFailed',
    status: 503,
    told: 'the bytes of artifacts can’t be reached now: try again',
    ...RETRYABLE,
  },
  HOLDFAST_UNKNOWN_BUCKET: {
    name: 'UnknownBucket',
    status: 500,
    told: 'the bytes of this artifact are kept where this gateway can’t read',
  },

  // Temporal
  HOLDFAST_TEMPORAL_CONFIG_INVALID: { name: 'TemporalConfigInvalid' },
  HOLDFAST_TEMPORAL_UNREACHABLE: {
    name: 'TemporalUnreachable',
    status: 503,
    told: 'Temporal can’t be reached now: try again',
    ...RETRYABLE,
  },
  HOLDFAST_TEMPORAL_UNAVAILABLE: { name: 'TemporalUnavailable' },
  HOLDFAST_TEMPORAL_START_FAILED: { name: 'TemporalStartFailed' },
  HOLDFAST_BUNDLE_MISMATCH: { name: 'BundleMismatch' },

  // Folder
  HOLDFAST_FOLDER_IN_USE: { name: 'FolderInUse' },
  HOLDFAST_FOLDER_UNUSABLE: { name: 'FolderUnusable' },

  // The command
  HOLDFAST_COMMAND_FAILED: { name: 'CliError' },
  HOLDFAST_COMMAND_LINE: { name: 'UsageError', exit: 2 },
  HOLDFAST_COMMAND_INTERRUPTED: { name: 'Interrupted', exit: 130 },

  // Gateway
  HOLDFAST_GATEWAY_NOT_LOCAL: { name: 'GatewayNotLocal' },
  HOLDFAST_GATEWAY_UNAUTHENTICATED: { name: 'GatewayError', status: 401, told: 'unauthenticated' },
  HOLDFAST_GATEWAY_FORBIDDEN: { name: 'GatewayError', status: 403, told: 'forbidden' },
  HOLDFAST_GATEWAY_TOO_MANY_REQUESTS: {
    name: 'GatewayError',
    status: 429,
    told: 'too many requests: wait as long as Retry-After says',
    ...RETRYABLE,
  },
  HOLDFAST_GATEWAY_BUSY: {
    name: 'GatewayError',
    status: 503,
    told: 'the gateway has too much to do, or closes: try again later',
    ...RETRYABLE,
  },
  HOLDFAST_ISSUER_UNREACHABLE: {
    name: 'IssuerUnreachable',
    status: 503,
    told: 'whether the token is good can’t be found out now: try again',
    ...RETRYABLE,
  },
  HOLDFAST_GATEWAY_BAD_REQUEST: { name: 'GatewayError', status: 400, told: 'the request is malformed' },
  HOLDFAST_GATEWAY_NO_SUCH_ROUTE: { name: 'GatewayError', status: 404, told: 'there is no such path' },
  HOLDFAST_GATEWAY_NO_SUCH_TURN: {
    name: 'GatewayError',
    status: 404,
    told: 'nobody has sent a message of this id to this session',
  },
  HOLDFAST_GATEWAY_METHOD_NOT_ALLOWED: {
    name: 'GatewayError',
    status: 405,
    told: 'this path has no such method',
  },
  HOLDFAST_GATEWAY_BODY_TOO_LARGE: {
    name: 'GatewayError',
    status: 413,
    told: 'the body is too large',
  },
  HOLDFAST_GATEWAY_UNSUPPORTED_TYPE: {
    name: 'GatewayError',
    status: 415,
    told: 'send the body as JSON in UTF-8, not compressed, with the header content-type: application/json',
  },
  HOLDFAST_WEBHOOK_BUSY: RETRYABLE,
  HOLDFAST_WEBHOOK_NOT_READY: {
    name: 'WebhookNotReady',
    status: 503,
    told: 'this webhook cannot be verified now: send it again later',
    ...RETRYABLE,
  },
  HOLDFAST_WEBHOOK_MISUSED: { name: 'WebhookMisused' },
  HOLDFAST_GATEWAY_ERROR: {
    name: 'GatewayError',
    status: 500,
    told: 'something went wrong: the gateway’s log has more under this request id',
  },
  HOLDFAST_GATEWAY_UNREACHABLE: { name: 'GatewayUnreachable', ...RETRYABLE },
  HOLDFAST_RUN_CANCELLED: { status: 409, told: 'the turn has no result: its run was cancelled' },
  HOLDFAST_RUN_TERMINATED: { status: 409, told: 'the turn has no result: its run was terminated' },
  HOLDFAST_RUN_FAILED: {
    status: 409,
    told: 'the turn has no result: its run has failed, and the Temporal UI shows how',
  },

  // The mock Gemini server
  MOCK_GEMINI_BAD_OPTION: { name: 'MockGeminiError' },
  MOCK_GEMINI_BAD_REPLY: { name: 'MockGeminiError' },
  MOCK_GEMINI_WAIT_TIMEOUT: { name: 'MockGeminiError' },
  MOCK_GEMINI_CLOSED: { name: 'MockGeminiError' },
} as const satisfies Readonly<Record<string, ErrorEntry>>;

/** Stays the same from release to release. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** The row of a code; undefined for a tool's own code, or another release's. */
export function entryOf(code: string): ErrorEntry | undefined {
  return Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code as ErrorCode] : undefined;
}

/** Where the documents tell more about a code. */
export function sectionOf(code: string): string {
  return `docs/errors.md#${code.toLowerCase()}`;
}
