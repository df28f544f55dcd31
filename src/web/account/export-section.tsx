import type { VNode } from 'preact';
import { ConfirmField, Hidden } from '../layout/index.js';
import type { AccountPageProps } from './account-page-props.js';

export function ExportSection({ csrfToken, needsConfirmation, failedExport }: AccountPageProps): VNode {
  return (
    <section aria-labelledby="export">
      <h2 id="export">Export</h2>
      <p class="hint">
        Downloads one file with everything that is stored here: all workspaces with every kept version, and
        what is known about your account. Notes and names stay encrypted; the example program decrypts them
        with your vault’s password.
      </p>
      <form method="post" action="/account/export" aria-label="Export everything">
        <Hidden fields={{ csrf_token: csrfToken }} />
        {needsConfirmation && <ConfirmField id="export-password" fault={failedExport?.fault} />}
        <button type="submit" class="quiet">
          Export everything
        </button>
      </form>
    </section>
  );
}
