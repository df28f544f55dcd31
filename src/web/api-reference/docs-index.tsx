import type { VNode } from 'preact';
import type { ApiDocument } from '../../platform/api-docs/index.js';
import { DocsShell, SearchForm } from './docs-shell.js';
import type { Group, ListedOperation } from './groups.js';
import { Marked } from './schema-text.js';

interface IndexProps {
  readonly host: string;
  readonly document: ApiDocument;
  readonly groups: readonly Group[];
}

/** What holds for the whole API, and every operation in one line. */
export function docsIndex({ host, document, groups }: IndexProps): VNode {
  const { info, openapi } = document;
  return (
    <DocsShell host={host}>
      <h1>{`${info.title}: API`}</h1>
      {info.description.split('\n\n').map((paragraph) => (
        <p key={paragraph}>
          <Marked text={paragraph} />
        </p>
      ))}
      <p>
        For programs and generated clients: <a href="/openapi.json">openapi.json</a> (OpenAPI {openapi}).
        Named types are under <a href="/docs/schemas">Schemas</a>.
      </p>
      <SearchForm isHere />
      {groups.map(({ name, description, slug, listed }) => (
        <section key={slug} data-group>
          <h2>
            <a href={`/docs/${slug}`}>{name}</a>
          </h2>
          <p class="lead">{description}</p>
          <ul class="operations">
            {listed.map((one) => (
              <IndexEntry key={one.operation.operationId} slug={slug} {...one} />
            ))}
          </ul>
        </section>
      ))}
    </DocsShell>
  );
}

function IndexEntry({ slug, method, path, operation }: ListedOperation & { readonly slug: string }): VNode {
  const { operationId, summary, description = '', tags } = operation;
  const words = [method, path, operationId, summary, description, ...tags].join(' ').toLowerCase();
  return (
    <li data-words={words}>
      <span class={`method ${method}`}>{method}</span>
      <a href={`/docs/${slug}#${operationId}`}>{summary}</a>
      <code>{path}</code>
    </li>
  );
}
