/** How a request that is pending no more may have ended. */
export const ENDED = `('approved', 'rejected', 'answered', 'expired', 'cancelled')`;

/**
 * What an entry makes of a pending request, in the `set` of an update of `t`: `e` as it came, `f` the same as jsonb, `ends` whether it
 * is an end, `response` what it says.
 */
export const EFFECT = `votes = holdfast.votes_with_1(t.votes, t.history, f), history = holdfast.history_with_1(t.history, f),
      -- Where the time to decide is over, those who are asked next have as much again.
      until = case when f ->> 'kind' = 'escalated' and t.terms ->> 'onExpiry' = 'escalate' and (t.escalated_at is not null
          or (t.terms ->> 'escalateAfter')::float8 < (t.terms ->> 'expiresIn')::float8 is not true)
        then (f ->> 'at')::bigint + (t.terms ->> 'expiresIn')::float8::bigint else t.until end,
      escalated_at = case when f ->> 'kind' = 'escalated' then coalesce(t.escalated_at, (f ->> 'at')::bigint)
        else t.escalated_at end,
      status = case when ends then f ->> 'kind' else t.status end, decided_at = case when ends then (f ->> 'at')::bigint end,
      reason = case when ends then f ->> 'reason' end, answer_payload = case when ends and f ? 'payload' then e -> 'payload' end,
      edited_args = case when ends and f ? 'args' then e -> 'args' end, response = case when ends then response end,
      response_ref = case when ends then f ->> 'responseRef' end,
      credential_ref = case when ends then f ->> 'credentialRef' end`;
