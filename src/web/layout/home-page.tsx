import type { VNode } from 'preact';
import { Layout, Masthead } from './layout.js';

/** The page at the service's root address, the same for everybody. */
export function homePage({ host }: { readonly host: string }): VNode {
  return (
    <Layout title={`Cloud Sync Service on ${host}`}>
      <Masthead host={host} />
      <h1>Cloud Sync Service</h1>
      <p>
        Keeps workspaces of notes and files in sync between devices. Apps encrypt the data before sending it,
        so this service cannot read it.
      </p>
      <ul>
        <li>
          <a href="/account">Your account</a>
        </li>
        <li>
          <a href="/docs">The API, for app developers</a>
        </li>
        <li>
          <a href="/readme">The readme, for operators</a>
        </li>
      </ul>
      <p class="hint">In your app, enter the address of this page as the server.</p>
    </Layout>
  );
}
