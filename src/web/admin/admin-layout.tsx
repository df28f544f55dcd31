import type { ComponentChildren, VNode } from 'preact';
import { ConfirmField, Field, Hidden, Layout, Masthead } from '../layout/index.js';

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

export function adminPage({
  host,
  title,
  section,
  notice,
  alert,
  content,
}: AdminPage & { readonly host: string }): VNode {
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
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      {notice && (
        <p class="notice" role="status">
          {notice}
        </p>
      )}
      {content}
    </Layout>
  );
}

interface ConfirmProps {
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
    <Layout title="Confirm that it is you">
      <Masthead host={host} />
      <h1>Confirm that it is you</h1>
      <p>You signed in more than ten minutes ago.</p>
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      <form method="post" action={action} class="credentials" aria-label="Confirm that it is you">
        <Hidden fields={{ csrf_token: csrfToken }} />
        {fields.map(([name, value]) => (
          <input type="hidden" key={name} name={name} value={value} />
        ))}
        <ConfirmField id="confirm-password" fault={fault} />
        <button type="submit">Continue</button>
      </form>
      <p>
        <a href="/account">Back to your account</a>
      </p>
    </Layout>
  );
}

interface AdminFormProps {
  readonly action: string;
  readonly csrfToken: string;
  readonly label: string;
  readonly children: ComponentChildren;
}

export function AdminForm({ action, csrfToken, label, children }: AdminFormProps): VNode {
  return (
    <form method="post" action={action} aria-label={label}>
      <Hidden fields={{ csrf_token: csrfToken }} />
      {children}
    </form>
  );
}

export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [string, ComponentChildren])[];
}): VNode {
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
  /** The name of the parameter. */
  readonly name: string;
  readonly label: string;
  readonly value: string;
  /** The text of the button. */
  readonly verb: string;
}

/** A search whose query is in the address, so that a result can be bookmarked. */
export function SearchForm({ action, name, label, value, verb }: SearchFormProps): VNode {
  return (
    <form method="get" action={action} role="search" aria-label={verb} class="search">
      <Field {...{ name, label, value }} id={name} type="text" autocomplete="off" isRequired={false} />
      <button type="submit" class="quiet">
        {verb}
      </button>
    </form>
  );
}
