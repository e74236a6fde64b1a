/** When Temporal scheduled the attempt that has begun a call: one that was scheduled earlier, and begins later, stood still. */
export const lateAttempts = `
alter table holdfast.ledger add column begun_for bigint;
`;
