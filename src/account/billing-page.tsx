import type { VNode } from 'preact';
import { Layout } from '../pages/index.js';

/** Leads to the payment provider. */
export function billingPage(url: string): VNode {
  return (
    <Layout title="Billing">
      <h1>Your billing page is ready</h1>
      <p>
        It is at <span class="name">{new URL(url).host}</span>, where payments are made. The link works for a
        few minutes.
      </p>
      <a class="button" href={url} rel="noreferrer">
        Open billing
      </a>
      <p>
        <a href="/account">Back to the account</a>
      </p>
    </Layout>
  );
}
