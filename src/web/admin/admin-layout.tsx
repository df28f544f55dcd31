import type { ComponentChildren, VNode } from 'preact';
import { ConfirmField, Field, Layout, Masthead, Messages, PostForm, SitePage } from '../layout/index.js';

const SECTIONS = {
  Accounts: '/admin',
  Invitations: '/admin/invitations',
  Service: '/admin/service',
  Audit: '/admin/audit',
} as const;

export type Section = keyof typeof SECTIONS;

export interface AdminPage {
  readonly title: string;
  /** The section that is marked as the current one. */
  readonly section?: Section;
  /** The message after a completed action. */
  readonly notice?: string | undefined;
  readonly alert?: string | undefined;
  /** Defaults to 200. */
  readonly status?: number;
  readonly content?: ComponentChildren;
}

export function adminPage(page: AdminPage & { readonly host: string }): VNode {
  const { host, title, section, notice, alert, content } = page;
  return (
    <Layout title={`${title} – administration`} isWide>
      <Masthead host={host} />
      <nav class="sections" aria-label="Administration">
        <ul>
          {Object.entries(SECTIONS).map(([name, path]) => (
            <li key={name}>
              <a href={path} aria-current={name === section ? 'page' : undefined}>
                {name}
              </a>
            </li>
          ))}
          <li>
            <a href="/account">Your account</a>
          </li>
        </ul>
      </nav>
      <h1>{title}</h1>
      <Messages {...{ alert, notice }} />
      {content}
    </Layout>
  );
}

export interface ConfirmProps {
  readonly host: string;
  readonly csrfToken: string;
  /** The address to which the form is posted, with these fields. */
  readonly action: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly fault?: string;
  readonly alert?: string;
}

/** Asks for the password before a page, or before a form is processed. */
export function confirmPage({ host, csrfToken, action, fields, fault, alert }: ConfirmProps): VNode {
  return (
    <SitePage title="Confirm that it is you" host={host}>
      <p>You signed in more than ten minutes ago.</p>
      <Messages alert={alert} />
      <PostForm {...{ action, csrfToken }} class="credentials" label="Confirm that it is you">
        {fields.map(([name, value]) => (
          <input type="hidden" key={name} name={name} value={value} />
        ))}
        <ConfirmField id="confirm-password" fault={fault} />
        <button type="submit">Continue</button>
      </PostForm>
      <p>
        <a href="/account">Back to your account</a>
      </p>
    </SitePage>
  );
}

interface FactsProps {
  readonly facts: readonly (readonly [string, ComponentChildren])[];
}

export function Facts({ facts }: FactsProps): VNode {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface SearchFormProps {
  readonly action: string;
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly verb: string;
}

/** A search whose query is in the address, so that a result can be bookmarked. */
export function SearchForm({ action, name, label, value, verb }: SearchFormProps): VNode {
  return (
    <form method="get" action={action} role="search" aria-label={verb} class="search">
      <Field {...{ name, label, value }} id={name} isRequired={false} />
      <button type="submit" class="quiet">
        {verb}
      </button>
    </form>
  );
}
