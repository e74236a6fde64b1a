/** Task queue that workers poll and clients start turns on unless told otherwise. */
export const DEFAULT_TASK_QUEUE = 'holdfast';

export const AGENT_TURN = 'agentTurn';

export const CALL_MODEL = 'holdfast.callModel';
export const SETTLE_STEP = 'holdfast.settleStep';

/** Activity types, and so tool names, that start like this belong to Holdfast. */
export const RESERVED_PREFIX = 'holdfast.';

export const STATUS_QUERY = 'status';

/** Type of an attempt's failure that is the tool's own; all others are the infrastructure's. */
export const TOOL_FAILED = 'ToolFailed';
