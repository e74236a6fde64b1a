import type { z } from 'zod';
import { CONFIRM_PAYLOAD, HELD_QUESTION, INPUT_PAYLOAD, REQUEST_NAME } from './approvals.ts';
import type { CheckOf } from './check.ts';
import { JOB_NAME, JOB_PROGRESSED, TOOL_JOB_START } from './jobs.ts';
import { MESSAGE_PAYLOAD, NAMED_MESSAGE } from './messages.ts';
import { NOTICE_START } from './notices.ts';
import { checkOf, type Exact } from './operation.ts';
import { REMEMBER_START, RETENTION_START } from './sessions.ts';
import {
  CANCEL_PAYLOAD,
  CHILD_START,
  CHILD_STATE,
  INTERRUPT_PAYLOAD,
  TURN_ENDED,
  TURN_START,
} from './turns.ts';

/**
 * Checks for workflows, as data. The workflow bundle has this object in the place of this module: the schemas and their
 * library stay outside of it.
 */
export const WORKFLOW_CHECKS = {
  confirm: checked(CONFIRM_PAYLOAD),
  input: checked(INPUT_PAYLOAD),
  requestName: checked(REQUEST_NAME),
  heldQuestion: checked(HELD_QUESTION),
  message: checkOf(MESSAGE_PAYLOAD),
  policy: checkOf(MESSAGE_PAYLOAD.pick({ policy: true })),
  namedMessage: checkOf(NAMED_MESSAGE),
  interrupt: checked(INTERRUPT_PAYLOAD),
  cancelCall: checked(CANCEL_PAYLOAD),
  turnStart: checkOf(TURN_START),
  childStart: checkOf(CHILD_START),
  jobName: checked(JOB_NAME),
  jobProgressed: checked(JOB_PROGRESSED),
  toolJobStart: checkOf(TOOL_JOB_START),
  noticeStart: checkOf(NOTICE_START),
  childState: checked(CHILD_STATE),
  turnEnded: checkOf(TURN_ENDED),
  retentionStart: checked(RETENTION_START),
  rememberStart: checked(REMEMBER_START),
};

function checked<Schema extends z.ZodType>(schema: Schema): CheckOf<Exact<z.output<Schema>>> {
  return checkOf(schema);
}
