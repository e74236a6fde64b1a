import { createHash } from 'node:crypto';
import { UNDO_SCRIPT } from './undo-script.ts';

/** Exactly what stands in each page: its hash is what the pages’ policy allows. */
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --page: #f3f5f4; --card: #ffffff; --sunk: #f6f8f7; --ink: #14201c; --soft: #56645e; --line: #dce3df; --edge: #87938d;
  --accent: #0a5c4a; --go: #0b6b4f; --go-ink: #ffffff; --stop: #a8231c; --wait: #7a5000;
  --go-bg: #e3f4ec; --stop-bg: #fdeceb; --wait-bg: #fdf3dc; --info-bg: #e8eef7; --info: #234a80;
  --esc: #8a1c5c; --esc-bg: #fbe5f1; --ring: #1464d2;
  --shade: 0 1px 2px rgb(16 32 26 / .06), 0 8px 24px -12px rgb(16 32 26 / .18);
}
@media (prefers-color-scheme: dark) { :root {
  --page: #0e1311; --card: #161d1a; --sunk: #1b2420; --ink: #e6eeea; --soft: #9dada6; --line: #2a3530; --edge: #6d7d76;
  --accent: #6fd6b4; --go: #46c795; --go-ink: #04150e; --stop: #ff8f86; --wait: #f0c060;
  --go-bg: #12301f; --stop-bg: #3a1817; --wait-bg: #33270f; --info-bg: #17263c; --info: #9cc2f5;
  --esc: #ff9dd0; --esc-bg: #43162f; --ring: #7db7ff;
  --shade: none;
} }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; min-height: 100vh; display: flex; flex-direction: column; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
a { color: var(--accent); text-underline-offset: .18em; }
:focus-visible { outline: 3px solid var(--ring); outline-offset: 2px; border-radius: .3rem; }
.soft, small { color: var(--soft); }
.skip { position: absolute; left: .5rem; top: -4rem; background: var(--card); padding: .5rem .9rem; z-index: 1; }
.skip:focus { top: .5rem; }

.top { border-bottom: 1px solid var(--line); background: var(--card); }
.top > div { max-width: var(--width); margin: 0 auto; padding: .8rem 1rem; display: flex; flex-wrap: wrap; align-items: center;
  gap: .35rem 1.25rem; }
.brand { display: inline-flex; align-items: center; gap: .5rem; font-weight: 650; letter-spacing: -.01em; color: var(--ink);
  text-decoration: none; }
.brand svg { width: 1.4rem; height: 1.4rem; color: var(--accent); }
.who { margin-left: auto; color: var(--soft); font-size: .9rem; overflow-wrap: anywhere; display: flex; align-items: center;
  gap: .75rem; }
.who b { color: var(--ink); font-weight: 600; }
.tabs { display: flex; flex-wrap: wrap; gap: .25rem; }
.tabs a { padding: .35rem .7rem; border-radius: .5rem; color: var(--soft); text-decoration: none; font-weight: 550; font-size: .94rem; }
.tabs a:hover { background: var(--sunk); color: var(--ink); }
.tabs a[aria-current] { background: var(--go-bg); color: var(--accent); }

body { --width: 46rem; }
body.wide { --width: 64rem; }
body.narrow { --width: 28rem; }
main { width: 100%; max-width: var(--width); margin: 0 auto; padding: 1.5rem 1rem 2rem; flex: 1; }
.foot { max-width: var(--width); width: 100%; margin: 0 auto; padding: 0 1rem 2rem; color: var(--soft); font-size: .85rem;
  overflow-wrap: anywhere; }
.foot p { margin: .2rem 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .9rem; box-shadow: var(--shade);
  padding: 1.4rem 1.5rem; margin: 0 0 1rem; }
.card > :first-child { margin-top: 0; }
.card > :last-child { margin-bottom: 0; }
h1 { font-size: 1.45rem; line-height: 1.25; letter-spacing: -.015em; margin: .5rem 0 .35rem; overflow-wrap: anywhere; }
h1 code { font-size: .94em; letter-spacing: -.02em; }
h2 { font-size: .82rem; letter-spacing: .05em; text-transform: uppercase; color: var(--soft); margin: 1.5rem 0 .5rem; }
summary { cursor: pointer; font-weight: 600; }
details + details { margin-top: .8rem; }
details[open] > summary { margin-bottom: .9rem; }
p { margin: .5rem 0; overflow-wrap: anywhere; }
code, pre, .text, textarea.code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
code, .text { font-size: .9em; overflow-wrap: anywhere; }

.chip { display: inline-flex; align-items: center; gap: .45rem; padding: .2rem .65rem; border-radius: 99rem; font-size: .85rem;
  font-weight: 600; background: var(--info-bg); color: var(--info); }
.chip::before { content: ""; width: .5rem; height: .5rem; border-radius: 50%; background: currentColor; }
.chip.pending { background: var(--wait-bg); color: var(--wait); }
.chip.good { background: var(--go-bg); color: var(--go); }
.chip.bad { background: var(--stop-bg); color: var(--stop); }
.note, .warn, .done { border-radius: .6rem; padding: .75rem .95rem; margin: 0 0 1rem; background: var(--info-bg); color: var(--info); }
.warn { background: var(--stop-bg); color: var(--stop); }
.done { background: var(--go-bg); color: var(--go); }
.warn p, .note p, .done p { margin: .2rem 0; }
.question { border-left: 3px solid var(--accent); padding: .1rem 0 .1rem .9rem; margin: .9rem 0; font-size: 1.04rem; white-space: pre-line;
  overflow: hidden; overflow-wrap: anywhere; }

table.args { width: 100%; border-collapse: separate; border-spacing: 0; border: 1px solid var(--line); border-radius: .6rem;
  overflow: hidden; table-layout: fixed; }
.args th { width: 30%; text-align: left; font-weight: 500; color: var(--soft); background: var(--sunk); vertical-align: top;
  padding: .55rem .8rem; overflow: hidden; overflow-wrap: anywhere; }
.args td { padding: .55rem .8rem; vertical-align: top; overflow: hidden; }
.args tr + tr > * { border-top: 1px solid var(--line); }
.value { border: 1px solid var(--line); border-radius: .6rem; padding: .55rem .8rem; overflow: hidden; }
.text { white-space: pre-wrap; }
.number, .boolean { font-weight: 600; }
.amount { margin-left: .5rem; }
.nil, .masked, .none { color: var(--soft); font-style: italic; }
.esc { color: var(--esc); background: var(--esc-bg); border-radius: .2rem; padding: 0 .15em; font: 600 .85em ui-monospace, monospace;
  white-space: nowrap; }
.eol { color: var(--soft); opacity: .55; }
.cut { display: block; color: var(--stop); font-weight: 600; font-size: .88rem; }
.long { max-height: 16rem; overflow: auto; background: var(--sunk); border: 1px solid var(--line); border-radius: .45rem; }
.long pre { margin: 0; padding: .6rem .75rem; font-size: .85rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.size { display: block; margin-top: .2rem; font-size: .8rem; }
.object, .list { margin: 0; }
.object > div, .list > div { display: grid; grid-template-columns: minmax(3rem, max-content) 1fr; gap: 0 .75rem; padding: .12rem 0; }
.list > div { grid-template-columns: 1.6rem 1fr; }
.object dt, .list dt { color: var(--soft); overflow-wrap: anywhere; min-width: 0; }
.object dd, .list dd { margin: 0; min-width: 0; }
dd > .object, dd > .list { border-left: 2px solid var(--line); padding-left: .7rem; }
.index { font-size: .8rem; color: var(--soft); font-variant-numeric: tabular-nums; }
.args.diff { margin-top: 1rem; } .diff td { width: 35%; } .diff thead th { background: none; font-size: .82rem; width: auto; }
.diff .value { border: 0; padding: 0; } .diff .was { background: var(--stop-bg); } .diff .now { background: var(--go-bg); }
.same { color: var(--soft); font-size: .9rem; }

.facts { margin: 0; display: grid; grid-template-columns: 30% 1fr; gap: .4rem .8rem; font-size: .95rem; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
.votes { list-style: none; margin: 0; padding: 0; }

form { margin: 0; }
.field { margin: 0 0 1rem; border: 0; padding: 0; min-width: 0; }
label, legend { display: block; font-weight: 600; font-size: .94rem; margin-bottom: .25rem; padding: 0; overflow-wrap: anywhere; }
label small, legend small { font-weight: 400; }
.hint { color: var(--soft); font-size: .88rem; margin: -.1rem 0 .35rem; }
.error { color: var(--stop); font-weight: 600; font-size: .9rem; margin: .3rem 0 0; }
input:not([type=radio]):not([type=checkbox]), textarea, select { width: 100%; font: inherit; color: var(--ink); background: var(--card);
  border: 1px solid var(--edge); border-radius: .5rem; padding: .6rem .7rem; }
textarea { min-height: 4.6rem; resize: vertical; line-height: 1.45; field-sizing: content; max-height: 28rem; }
textarea.code, input.code { font-size: .88rem; }
[aria-invalid] { border-color: var(--stop) !important; border-width: 2px !important; }
.choice { display: flex; gap: 1.25rem; flex-wrap: wrap; }
.choice label { font-weight: 400; display: inline-flex; gap: .45rem; align-items: center; padding: .45rem 0; margin: 0; }
.choice input { width: 1.15rem; height: 1.15rem; accent-color: var(--go); }
.actions { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; }
.decide { display: contents; }
.decide .field { flex: 1 1 100%; margin-bottom: .4rem; }
.told:empty, [hidden] { display: none !important; }
.told { font-weight: 600; flex: 1 1 100%; } .told:has(+ .undo:not([hidden])) { flex: 2 1 0; }
.undo { gap: .5rem; min-width: 6.5rem; font-variant-numeric: tabular-nums; }
button, .button { font: inherit; font-weight: 600; min-height: 2.9rem; padding: .6rem 1.3rem; border-radius: .6rem; border: 1px solid transparent;
  cursor: pointer; text-decoration: none; display: inline-flex; align-items: center; justify-content: center; }
.primary { background: var(--go); color: var(--go-ink); }
.primary:hover { filter: brightness(1.08); }
.danger { background: transparent; color: var(--stop); border-color: currentColor; }
.danger:hover { background: var(--stop-bg); }
.quiet { background: transparent; color: var(--ink); border-color: var(--edge); }
.quiet:hover { background: var(--sunk); }
.plain { background: none; border: 0; padding: 0; min-height: 1.6rem; color: var(--accent); text-decoration: underline; font-weight: 500; font-size: .9rem;
  text-underline-offset: .18em; }
.push { margin-left: auto; }

.filters { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; margin-bottom: 1rem; }
.filters label { font-size: .85rem; } .filters select { min-height: 2.9rem; }
.filters .field { margin: 0; min-width: 10rem; }
.rows { list-style: none; margin: 0 0 1rem; padding: 0; background: var(--card); border: 1px solid var(--line); border-radius: .9rem; overflow: hidden;
  box-shadow: var(--shade); }
.rows > li { position: relative; padding: .9rem 1.2rem; display: grid; grid-template-columns: 1fr auto; gap: .15rem 1rem; align-items: start; }
.rows > li + li { border-top: 1px solid var(--line); }
.rows > li:has(a.row:hover) { background: var(--sunk); }
.rows a.row { color: var(--ink); text-decoration: none; font-weight: 600; overflow-wrap: anywhere; }
.rows a.row::after { content: ""; position: absolute; inset: 0; }
.rows p { margin: 0; color: var(--soft); font-size: .92rem; grid-column: 1; overflow: hidden; overflow-wrap: anywhere; }
.rows .aside { grid-column: 2; grid-row: 1 / span 3; text-align: right; font-size: .88rem; color: var(--soft); display: flex; flex-direction: column;
  gap: .3rem; align-items: flex-end; }
.ui { display: inline-flex; align-items: center; min-height: 2.75rem; }
.empty { text-align: center; padding: 3rem 1.5rem; color: var(--soft); }
.empty strong { display: block; color: var(--ink); font-size: 1.1rem; margin-bottom: .25rem; }
.pager { display: flex; justify-content: space-between; gap: 1rem; }
.bar { display: flex; align-items: baseline; gap: 1rem; flex-wrap: wrap; margin-bottom: .6rem; }
.bar h1 { margin: 0; }

@media (max-width: 34rem) {
  main { padding: 1rem .75rem 1.5rem; }
  .card { padding: 1.1rem 1rem; border-radius: .75rem; }
  table.args, .args tbody, .args tr, .args th, .args td { display: block; width: auto; }
  .args th { padding: .5rem .8rem .3rem; }
  .args td { padding: .5rem .8rem .65rem; }
  .args tr + tr > td { border-top: 0; }
  .diff thead { display: none; }
  .diff td::before { content: attr(data-label); display: block; font-size: .8rem; font-weight: 600; margin-bottom: .15rem; }
  .facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd { margin-bottom: .55rem; }
  .actions > button, .actions > .button { flex: 1 1 100%; }
  .push { margin-left: 0; }
  .rows > li { grid-template-columns: 1fr; padding: .85rem .9rem; }
  .rows .aside { grid-column: 1; grid-row: auto; flex-direction: row; flex-wrap: wrap; align-items: center; text-align: left; gap: .3rem .7rem;
    margin-top: .25rem; }
  .who { margin-left: 0; width: 100%; justify-content: space-between; }
}
@media (max-width: 34rem) and (min-height: 30rem) {
  html:has(.decide) { scroll-padding-bottom: 11.5rem; }
  body:has(.decide) { padding-bottom: calc(10.5rem + env(safe-area-inset-bottom)); }
  .decide { position: fixed; inset: auto 0 0; z-index: 2; display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .6rem; background: var(--card);
    border-top: 1px solid var(--line); padding: .5rem .75rem calc(.6rem + env(safe-area-inset-bottom)); }
  .decide > button { flex: 1 1 0; padding-inline: .6rem; line-height: 1.25; }
  .decide .field { margin: 0; } .decide .hint { display: none; }
  .decide textarea { min-height: 2.9rem; max-height: 7rem; }
}
@media (prefers-reduced-motion: no-preference) { button, .button, .rows > li { transition: background-color .12s, filter .12s; } }
@media (forced-colors: active) { .chip, button, .button { border: 1px solid; } }
@media print { .skip, form { display: none; } }
`;

/** A page that can run nothing but our script and load nothing, and sends its forms to its own server only. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(UNDO_SCRIPT)}`,
  `style-src ${hashOf(PAGE_STYLE)}`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
