import type { VNode } from 'preact';
import { Layout, Masthead } from './layout.js';

/** The readme for people; programs get it as plain text. */
export function readmePage({ host, text }: { readonly host: string; readonly text: string }): VNode {
  return (
    <Layout title="Readme" isWide>
      <Masthead host={host} at="readme" />
      <h1>Readme</h1>
      <pre class="readme">{text}</pre>
    </Layout>
  );
}
