import { html, raw } from 'hono/html';
import { visibleText } from '../../protocol/visible-text.ts';
import type { Html } from './shown-text.ts';
import { PAGE_STYLE } from './style.ts';

export interface Shell {
  /** Of the browser's tab; nobody's words but ours, unless made visible. */
  title: string;
  main: Html;
  width?: 'narrow' | 'wide';
  /** Beside the name of the product. */
  top?: Html | undefined;
  foot?: Html | undefined;
  /** Opens the page again, as one that this site has asked for. */
  again?: true;
}

/** The frame of every page for people: one style, nothing loaded. */
export function pageOf({ title, main, width, top, foot, again }: Shell): string {
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="referrer" content="no-referrer">
<meta name="format-detection" content="telephone=no, date=no, email=no, address=no">
${again ? html`<meta http-equiv="refresh" content="0">` : ''}
<title>${visibleText(title)} · Holdfast</title>
<style>${raw(PAGE_STYLE)}</style>
</head>
<body class="${width ?? ''}">
<a class="skip" href="#main">Skip to content</a>
<header class="top"><div>
<span class="brand"><svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2.1" stroke-linecap="round" stroke-linejoin="round"><path d="M12 8v13M5 13a7 7 0 0 0 14 0M8.5 11.5h7"/><circle cx="12" cy="5" r="3"/></svg>Holdfast</span>
${top ?? ''}
</div></header>
<main id="main" tabindex="-1">
${main}
</main>
${foot === undefined ? '' : html`<footer class="foot">${foot}</footer>`}
</body>
</html>
`);
}

/** A page of a few words. */
export function wordsPage({ title, text, more }: { title: string; text: string; more?: Html }): string {
  const main = html`<section class="card"><h1>${title}</h1><p>${text}</p>${more ?? ''}</section>`;
  return pageOf({ title, main, width: 'narrow' });
}
