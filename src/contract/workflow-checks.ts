import { CONFIRM_PAYLOAD, INPUT_PAYLOAD, REQUEST_NAME } from './approvals.ts';
import { JOB_NAME, JOB_PROGRESSED, TOOL_JOB_START } from './jobs.ts';
import { MESSAGE_PAYLOAD, NAMED_MESSAGE } from './messages.ts';
import { NOTICE_START } from './notices.ts';
import { checkOf } from './operation.ts';
import { RETENTION_START } from './sessions.ts';
import { CANCEL_PAYLOAD, CHILD_START, INTERRUPT_PAYLOAD, TURN_START } from './turns.ts';

/**
 * Checks for workflows, as data. The workflow bundle has this object in the place of this module: the schemas and their
 * library stay outside of it.
 */
export const WORKFLOW_CHECKS = {
  confirm: checkOf(CONFIRM_PAYLOAD),
  input: checkOf(INPUT_PAYLOAD),
  requestName: checkOf(REQUEST_NAME),
  message: checkOf(MESSAGE_PAYLOAD),
  policy: checkOf(MESSAGE_PAYLOAD.pick({ policy: true })),
  namedMessage: checkOf(NAMED_MESSAGE),
  interrupt: checkOf(INTERRUPT_PAYLOAD),
  cancelCall: checkOf(CANCEL_PAYLOAD),
  turnStart: checkOf(TURN_START),
  childStart: checkOf(CHILD_START),
  jobName: checkOf(JOB_NAME),
  jobProgressed: checkOf(JOB_PROGRESSED),
  toolJobStart: checkOf(TOOL_JOB_START),
  noticeStart: checkOf(NOTICE_START),
  retentionStart: checkOf(RETENTION_START),
};
