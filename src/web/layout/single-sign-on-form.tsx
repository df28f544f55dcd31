import type { VNode } from 'preact';
import type { Configuration } from '../../platform/config/index.js';
import { Hidden } from './fields.js';

/** The path of the form. */
export const SINGLE_SIGN_ON = '/auth/single-sign-on';

/** The pages on which a sign-in through the provider can begin. */
export type SingleSignOnPage = 'account' | 'desktop' | 'web';

/** The provider, for the sign-in forms of a page. */
export interface SingleSignOnOption {
  readonly name: string;
  /** Whether passwords are switched off. */
  readonly isOnly: boolean;
  readonly page: SingleSignOnPage;
}

/** Returns undefined without a provider. */
export function singleSignOnOption(
  { oidcName, oidcOnly, hasSingleSignOn }: Configuration,
  page: SingleSignOnPage,
): SingleSignOnOption | undefined {
  return hasSingleSignOn ? { name: oidcName ?? '', isOnly: oidcOnly, page } : undefined;
}

interface SingleSignOnFormProps {
  readonly option: SingleSignOnOption;
  /** The CSRF token, and what the page needs to be shown again. */
  readonly hidden: Readonly<Record<string, string>>;
  /** Whether the provider must ask for the password again: to confirm who the user is. */
  readonly isFresh?: boolean;
}

/** The button that leads to the provider. */
export function SingleSignOnForm({ option, hidden, isFresh = false }: SingleSignOnFormProps): VNode {
  const { name, page } = option;
  const verb = isFresh ? 'Confirm' : 'Continue';
  const fields = { ...hidden, page, ...(isFresh ? { fresh: 'yes' } : {}) };
  return (
    <form method="post" action={SINGLE_SIGN_ON} aria-label={`${verb} with ${name}`} class="single-sign-on">
      <Hidden fields={fields} />
      <button type="submit">
        {verb} with <span class="name">{name}</span>
      </button>
    </form>
  );
}
