import type { ComponentChildren, VNode } from 'preact';
import { Layout, Masthead } from '../layout/index.js';

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
