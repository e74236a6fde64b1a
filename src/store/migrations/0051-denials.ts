/** What the gateway has refused: one row for a minute and a kind, however often it came. */
export const denials = `
create table holdfast.denials (
  minute timestamptz not null,
  kind bytea not null,
  facts json not null,
  count bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (minute, kind)
);
`;
