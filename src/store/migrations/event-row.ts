/** Of a row `e` of `events`: what readers get. */
export const EVENT_ROW = `json_build_array(e.seq, e.kind, e.run_key, e.step, e.id,
  floor(extract(epoch from e.created_at) * 1000)::bigint, e.body, e.hides_after)`;
