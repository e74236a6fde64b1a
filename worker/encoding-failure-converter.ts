import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Puts messages and stacks of failures into a payload, which a codec encodes; by default they stand beside the payloads.
 *
 * @public Temporal's worker loads this file by its path and takes this export.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
