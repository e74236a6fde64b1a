import { html, raw } from 'hono/html';
import type { Documented, DocumentedAnswer, DocumentedParameter } from './api-document.ts';
import type { OpenApiDocument } from './open-api-document.ts';
import { schemaRows, schemaText } from './schema-text.ts';

type Html = ReturnType<typeof html>;

interface Shown {
  method: string;
  path: string;
  operation: Documented;
}

/** Exactly what stands in the page: its hash is what the page's policy allows. */
export const STYLE = `
:root { color-scheme: light dark; --line: #d7dbe0; --soft: #5b6470; --block: #f4f6f8; --accent: #0b63c5; }
@media (prefers-color-scheme: dark) { :root { --line: #39404a; --soft: #a3adb9; --block: #1d2228; --accent: #7db7ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .25rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 0; }
h4 { font-size: .85rem; margin: 1rem 0 .25rem; color: var(--soft); }
p { margin: .4rem 0; }
a { color: var(--accent); }
nav ul { list-style: none; padding: 0; margin: .5rem 0 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
details[open] > summary { margin-bottom: .6rem; }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .75rem 0; padding: .6rem .8rem; }
summary { cursor: pointer; }
summary h3 { display: inline; }
summary > span { color: var(--soft); display: block; }
.method { font: 600 .8rem ui-monospace, monospace; color: var(--accent); }
dl { margin: 0; display: grid; grid-template-columns: minmax(7rem, auto) 1fr; gap: .3rem 1rem; }
dt { overflow-wrap: anywhere; }
dd { margin: 0; }
dd small { color: var(--soft); display: block; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin: 0 0 .5rem; } }
.schema { background: var(--block); }
`;

/** A page to read the document: no script, nothing loaded from elsewhere. */
export function documentPage(document: OpenApiDocument): string {
  const shown = operationsOf(document);
  const { tags } = document;
  const schemas = Object.entries(document.components.schemas);
  const { title, version, description } = document.info;
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<header>
<h1>${title}</h1>
<p>Version ${version} · <a href="/openapi.json">openapi.json</a></p>
${description.split('\n\n').map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
</header>
<nav aria-label="Sections"><ul>
${tags.map(({ name }) => html`<li><a href="#${name}">${name}</a></li>`)}
<li><a href="#Schemas">Schemas</a></li>
</ul></nav>
<main>
${tags.map(
  ({ name, description: about }) => html`<section aria-labelledby="${name}">
<h2 id="${name}">${name}</h2>
<p>${prose(about)}</p>
${shown.filter(({ operation }) => operation.tags.includes(name)).map(operationBlock)}
</section>`,
)}
<section aria-labelledby="Schemas">
<h2 id="Schemas">Schemas</h2>
${schemas.map(
  ([name, schema]: [
    string,
    { description?: string },
  ]) => html`<details class="schema"><summary><code>${name}</code></summary>
<div id="schema-${name}">
${schema.description ? html`<p>${prose(schema.description)}</p>` : ''}
${fields(schema)}
</div>
</details>`,
)}
</section>
</main>
</body>
</html>
`);
}

function operationsOf({ paths }: OpenApiDocument): Shown[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method,
      path,
      operation,
    })),
  );
}

function operationBlock({ method, path, operation }: Shown): Html {
  const { parameters = [], requestBody } = operation;
  const content = requestBody?.content['application/json']?.schema;
  const open = operation.security.length === 0;
  return html`<details><summary><h3><span class="method">${method.toUpperCase()}</span> <code>${path}</code></h3>
<span>${operation.summary}${open ? ' · no token' : ''}</span></summary>
${operation.description ? html`<p>${prose(operation.description)}</p>` : ''}
${parameters.length === 0 ? '' : html`<h4>Parameters</h4><dl>${parameters.map(parameterRow)}</dl>`}
${content === undefined ? '' : html`<h4>Body</h4>${fields(content)}`}
<h4>Answers</h4><dl>${Object.entries(operation.responses).map(([status, answer]) => answerRow(status, answer))}</dl>
</details>`;
}

function parameterRow({ name, in: place, required, schema, description }: DocumentedParameter): Html {
  const about = description ?? '';
  return html`<dt><code>${name}</code></dt><dd>${schemaText(schema)}${required ? '' : ', optional'}, in the ${place}<small>${prose(about)}</small></dd>`;
}

function answerRow(status: string, answer: DocumentedAnswer): Html {
  const content = Object.entries(answer.content ?? {});
  const types = content.map(([type, { schema }]) =>
    type === 'application/json' ? html` ${link(schemaText(schema))}` : html` <code>${type}</code>`,
  );
  return html`<dt><code>${status}</code></dt><dd>${prose(answer.description)}${types}</dd>`;
}

function fields(schema: unknown): Html {
  const rows = schemaRows(schema);
  if (rows.length === 0) return html`<p>${link(schemaText(schema))}</p>`;
  return html`<dl>${rows.map(
    ({ name, type, required, description }) =>
      html`<dt><code>${name}</code></dt><dd>${link(type)}${required ? '' : ', optional'}<small>${prose(description)}</small></dd>`,
  )}</dl>`;
}

/** Names of schemas, which begin with a capital letter, lead to them. */
function link(type: string): Html[] {
  return type
    .split(/\b([A-Z]\w+)\b/)
    .map((part, index) => (index % 2 === 1 ? html`<a href="#schema-${part}">${part}</a>` : html`${part}`));
}

/** Text in backticks is code. */
function prose(text: string): Html[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}
