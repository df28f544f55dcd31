import type { VNode } from 'preact';
import type { ApiDocument } from '../../platform/api-docs/index.js';
import { DocsShell, SearchForm } from './docs-shell.js';
import type { Group } from './groups.js';
import { OperationArticle } from './operation-article.js';
import { schemaAnchor, SchemaText } from './schema-text.js';

interface GroupProps {
  readonly host: string;
  readonly document: ApiDocument;
  readonly groups: readonly Group[];
  readonly group: Group;
}

/** The operations of one group, in full. */
export function docsGroup({ host, document, groups, group }: GroupProps): VNode {
  return (
    <DocsShell host={host} title={group.name}>
      <h1>{group.name}</h1>
      <p class="lead">{group.description}</p>
      <SearchForm />
      <nav aria-label="Operations">
        <ul class="operations">
          {group.listed.map(({ method, path, operation }) => (
            <li key={operation.operationId}>
              <span class={`method ${method}`}>{method}</span>
              <a href={`#${operation.operationId}`}>{operation.summary}</a>
              <code>{path}</code>
            </li>
          ))}
        </ul>
      </nav>
      {group.listed.map((one) => (
        <OperationArticle key={one.operation.operationId} {...one} document={document} />
      ))}
      <Groups groups={groups} at={group.slug} />
    </DocsShell>
  );
}

/** All named schemas. */
export function docsSchemas({ host, document, groups }: Omit<GroupProps, 'group'>): VNode {
  return (
    <DocsShell host={host} title="Schemas">
      <h1>Schemas</h1>
      <p class="lead">The named types of bodies and answers.</p>
      {Object.entries(document.components.schemas).map(([name, schema]) => (
        <article key={name} id={schemaAnchor(name)}>
          <h2>{name}</h2>
          <SchemaText schema={schema} />
        </article>
      ))}
      <Groups groups={groups} at="schemas" />
    </DocsShell>
  );
}

function Groups({ groups, at }: { readonly groups: readonly Group[]; readonly at: string }): VNode {
  const all = [...groups, { name: 'Schemas', slug: 'schemas' }];
  return (
    <nav class="groups" aria-label="Groups">
      {all.map(({ name, slug }) => (
        <a key={slug} href={`/docs/${slug}`} aria-current={slug === at ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}
