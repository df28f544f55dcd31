import { Controller, Get, Headers, Injectable, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ComponentChildren, VNode } from 'preact';
import { Public } from '../../access/index.js';
import { type ApiDocument, Documented, page } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { NotFound } from '../../platform/http/index.js';
import { contentPolicy, Layout, Masthead, pageText } from '../layout/index.js';
import {
  ApiDocuments,
  type Group,
  groupsOf,
  IF_NONE_MATCH,
  KEPT,
  type ListedOperation,
  sendKept,
  type Served,
  served,
} from './api-documents.js';
import { Marked, OperationArticle, schemaAnchor, SchemaText } from './operation-article.js';

interface ShellProps {
  readonly host: string;
  /** Undefined on the index. */
  readonly title?: string;
  readonly children: ComponentChildren;
}

/** The frame of each page of the API document. */
export function DocsShell({ host, title, children }: ShellProps): VNode {
  return (
    <Layout title={title === undefined ? 'API' : `${title}: API`} isDocs>
      <Masthead host={host} at="docs" />
      {title !== undefined && (
        <nav class="crumbs" aria-label="Breadcrumb">
          <a href="/docs">API</a> / {title}
        </nav>
      )}
      {children}
    </Layout>
  );
}

/** Leads to the index, where the script filters the list. Without the script there is no field. */
export function SearchForm({ isHere = false }: { readonly isHere?: boolean }): VNode {
  return (
    <form class="search" role="search" action="/docs" method="get" data-search hidden>
      <div class="field">
        <label for="search">Search the operations</label>
        <input id="search" name="q" type="search" autocomplete="off" data-filter={isHere || undefined} />
      </div>
      {isHere && <p class="hint" role="status" data-found />}
    </form>
  );
}

interface DocsProps {
  readonly host: string;
  readonly document: ApiDocument;
  readonly groups: readonly Group[];
}

interface GroupProps extends DocsProps {
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
          {group.listed.map((one) => (
            <li key={one.operation.operationId}>
              <Entry {...one} page="" />
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

export function docsSchemas({ host, document, groups }: DocsProps): VNode {
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

/** What applies to the whole API, and one line for each operation. */
export function docsIndex({ host, document, groups }: DocsProps): VNode {
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
              <li key={one.operation.operationId} data-words={wordsOf(one)}>
                <Entry {...one} page={`/docs/${slug}`} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </DocsShell>
  );
}

/** What the search of the index looks in. */
function wordsOf({ method, path, operation }: ListedOperation): string {
  const { operationId, summary, description = '', tags } = operation;
  return [method, path, operationId, summary, description, ...tags].join(' ').toLowerCase();
}

/** A line about an operation, with a link to its description on a page. */
function Entry({ page, method, path, operation }: ListedOperation & { readonly page: string }): VNode {
  return (
    <>
      <span class={`method ${method}`}>{method}</span>
      <a href={`${page}#${operation.operationId}`}>{operation.summary}</a>
      <code>{path}</code>
    </>
  );
}

export const INDEX = '';

/** The API document as pages: an index, one page for each group, and the schemas. Built when first requested and cached. */
@Injectable()
export class DocsPages {
  private built: Promise<ReadonlyMap<string, Served>> | undefined;

  constructor(
    private readonly documents: ApiDocuments,
    private readonly configuration: Configuration,
  ) {}

  /** @param slug that of a group, `schemas`, or INDEX. @returns undefined when there is no such page */
  async page(slug: string): Promise<Served | undefined> {
    this.built ??= this.build();
    return (await this.built).get(slug);
  }

  private async build(): Promise<ReadonlyMap<string, Served>> {
    const document = await this.documents.document();
    const groups = groupsOf(document);
    const props = { host: this.configuration.publicHost, document, groups };
    return new Map([
      [INDEX, served(pageText(docsIndex(props)))],
      ['schemas', served(pageText(docsSchemas(props)))],
      ...groups.map((group) => [group.slug, served(pageText(docsGroup({ ...props, group })))] as const),
    ]);
  }
}

const DOCS_PAGES_DOCS = {
  tag: 'Pages',
  operations: {
    index: {
      summary: 'Show the operations of the API',
      headers: IF_NONE_MATCH,
      answers: { 200: page('the page, which loads nothing from other hosts'), ...KEPT },
    },
    group: {
      summary: 'Show a group of operations in full',
      path: { group: { description: 'The name of a tag, as in `access-tokens`, or `schemas`.' } },
      headers: IF_NONE_MATCH,
      answers: { 200: page('the page'), ...KEPT, 404: 'there is no such group' },
    },
  },
} as const;

/** The API document as pages, the same for all callers. */
@Controller('docs')
@Documented(DOCS_PAGES_DOCS)
@Public('describes the API; contains no user data')
export class DocsPagesController {
  constructor(private readonly pages: DocsPages) {}

  @Get()
  async index(
    @Headers('if-none-match') known: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.send(reply, known, INDEX);
  }

  @Get(':group')
  async group(
    @Param('group') slug: string,
    @Headers('if-none-match') known: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.send(reply, known, slug);
  }

  private async send(reply: FastifyReply, known: string | undefined, slug: string): Promise<void> {
    const found = await this.pages.page(slug);
    if (!found) throw new NotFound('not found');
    reply.header('content-security-policy', contentPolicy(["'self'"])); // its search form leads to the index
    await sendKept(reply, known, 'text/html; charset=utf-8', found);
  }
}
