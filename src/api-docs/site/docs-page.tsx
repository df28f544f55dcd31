import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { ApiDocument, Operation } from '../index.js';
import { OperationArticle } from './operation-article.js';
import { Marked, schemaAnchor, SchemaText } from './schema-text.js';

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** The document as a page: complete, without scripts and without requests to other hosts. */
export const docsPage = (document: ApiDocument): string =>
  `<!doctype html>${renderToString(<DocsPage document={document} />)}\n`;

function DocsPage({ document }: { readonly document: ApiDocument }): VNode {
  const groups = document.tags.map((tag) => ({ ...tag, listed: operationsIn(document, tag.name) }));
  const used = groups.filter(({ listed }) => listed.length > 0);
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${document.info.title}: API`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/docs/page.css" />
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to the content
        </a>
        <Contents groups={used} />
        <main id="content">
          <Introduction document={document} />
          {used.map(({ name, description, listed }) => (
            <section key={name} id={anchorOf(name)}>
              <h2>{name}</h2>
              <p class="lead">{description}</p>
              {listed.map((one) => (
                <OperationArticle key={one.operation.operationId} {...one} document={document} />
              ))}
            </section>
          ))}
          <Schemas document={document} />
        </main>
      </body>
    </html>
  );
}

function Introduction({ document }: { readonly document: ApiDocument }): VNode {
  return (
    <header>
      <h1>{document.info.title}</h1>
      {document.info.description.split('\n\n').map((paragraph) => (
        <p key={paragraph}>
          <Marked text={paragraph} />
        </p>
      ))}
      <p>
        For programs: <a href="/openapi.json">openapi.json</a> (OpenAPI {document.openapi}).
      </p>
    </header>
  );
}

function Contents({ groups }: { readonly groups: readonly { name: string; listed: Listed[] }[] }): VNode {
  return (
    <nav aria-label="Contents">
      {groups.map(({ name, listed }) => (
        <details key={name}>
          <summary>{name}</summary>
          <ul>
            {listed.map(({ method, operation }) => (
              <li key={operation.operationId}>
                <a href={`#${operation.operationId}`}>
                  <span class={`method ${method}`}>{method}</span> {operation.summary}
                </a>
              </li>
            ))}
          </ul>
        </details>
      ))}
      <a class="plain" href="#schemas">
        Schemas
      </a>
    </nav>
  );
}

function Schemas({ document }: { readonly document: ApiDocument }): VNode {
  return (
    <section id="schemas">
      <h2>Schemas</h2>
      {Object.entries(document.components.schemas).map(([name, schema]) => (
        <article key={name} id={schemaAnchor(name)}>
          <h3>{name}</h3>
          <SchemaText schema={schema} />
        </article>
      ))}
    </section>
  );
}

function operationsIn({ paths }: ApiDocument, tag: string): Listed[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags }]) => tags.includes(tag))
      .map(([method, operation]) => ({ method, path, operation })),
  );
}

const anchorOf = (name: string): string => name.toLowerCase().replace(/\W+/g, '-');
