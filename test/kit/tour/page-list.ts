/** A page in one of its states. */
export interface ListedPage {
  /** The route that serves it; mails have none. */
  readonly route?: string;
  /** Further pictures; every page has a wide and light one. */
  readonly pictures?: readonly Picture[];
}

/** Window and colour scheme of a further picture. */
export type Picture = 'phone' | 'dark' | 'phone-dark';

const of = (route: string, ...pictures: Picture[]): ListedPage => ({ route, pictures });
const mail: ListedPage = {};

/** Pages for a user with an account, from the invitation to its deletion. */
export const PERSON = {
  invitation: of('GET /account/invitation', 'phone'),
  'sign-up': of('GET /account'),
  'check-mail': of('POST /account'),
  'check-mail-again': of('POST /account/verify/send'),
  'mail-verify': mail,
  verify: of('GET /account/verify'),
  verified: of('POST /account/verify'),
  'sign-in': of('GET /account', 'phone', 'dark', 'phone-dark'),
  'sign-in-rejected': of('POST /account'),
  'account-new': of('GET /account', 'phone'),
  'factor-set-up': of('POST /account/factor/set-up', 'phone', 'dark'),
  'factor-code-rejected': of('POST /account/factor/confirm'),
  'backup-codes': of('POST /account/factor/confirm', 'phone'),
  'handoff-sign-in': of('GET /auth/desktop-handoff', 'phone', 'dark'),
  'handoff-code': of('POST /auth/desktop-handoff', 'phone'),
  'handoff-open-app': of('POST /auth/desktop-handoff', 'phone', 'dark'),
  'handoff-continue': of('GET /auth/web-handoff'),
  'handoff-rejected': of('POST /auth/web-handoff'),
  account: of('GET /account', 'phone', 'dark', 'phone-dark'),
  'backup-code': of('POST /account'),
  'new-backup-codes': of('POST /account/factor/codes'),
  forgot: of('GET /account/forgot'),
  'forgot-sent': of('POST /account/forgot'),
  'mail-reset': mail,
  reset: of('GET /account/reset', 'phone'),
  'reset-done': of('POST /account/reset'),
  'reset-used': of('GET /account/reset'),
  'new-address-asked': of('GET /account'),
  'mail-new-address': mail,
  'new-address': of('GET /account/new-address'),
  'new-address-done': of('POST /account/new-address'),
  'mail-old-address': mail,
  unsubscribe: of('GET /account/unsubscribe', 'phone'),
  unsubscribed: of('POST /account/unsubscribe'),
  'password-rejected': of('POST /account/password'),
  'token-rejected': of('POST /account/tokens'),
  token: of('POST /account/tokens', 'phone'),
  billing: of('POST /account/billing'),
  'workspace-deletion': of('GET /account'),
  activity: of('GET /account/activity', 'phone'),
  'deletion-rejected': of('POST /account/delete'),
  'account-deleted': of('POST /account/delete'),
} as const satisfies Record<string, ListedPage>;

/** Additional pages in a browser with passkeys. */
export const PASSKEYS = {
  'passkey-form': of('GET /account', 'phone'),
  passkey: of('GET /account'),
  'passkey-sign-in': of('GET /account', 'phone'),
} as const satisfies Record<string, ListedPage>;

/** Pages for an operator. */
export const OPERATOR = {
  'admin-accounts': of('GET /admin', 'phone', 'dark'),
  'admin-account': of('GET /admin/accounts/{userId}', 'phone'),
  'admin-suspended': of('GET /admin/accounts/{userId}'),
  'sign-in-suspended': of('POST /account'),
  'admin-resumed': of('GET /admin/accounts/{userId}'),
  'admin-password': of('POST /admin/accounts/{userId}/{action}'),
  'admin-factors': of('GET /admin/accounts/{userId}'),
  'admin-deletion-rejected': of('POST /admin/accounts/{userId}/{action}'),
  'admin-deleted': of('GET /admin'),
  'admin-invited': of('POST /admin/invitations'),
  'admin-invitations': of('GET /admin/invitations'),
  'admin-audit': of('GET /admin/audit', 'phone'),
  'admin-service': of('GET /admin/service', 'phone'),
  'admin-confirm': of('GET /admin'),
} as const satisfies Record<string, ListedPage>;

/** Public pages. */
export const VISITOR = {
  home: of('GET /', 'phone', 'dark'),
  readme: of('GET /readme'),
  docs: of('GET /docs', 'phone'),
  'docs-group': of('GET /docs/{group}'),
  'error-400': of('GET /auth/web-handoff'),
  'error-403': of('POST /account'),
  'error-404': of('GET /nothing', 'phone', 'dark'),
  'error-429': of('GET /account'),
  'error-503': of('GET /account'),
} as const satisfies Record<string, ListedPage>;

/** Pages of a service with a provider for single sign-on. */
export const SINGLE_SIGN_ON = {
  'single-sign-on': of('GET /account', 'phone'),
  'single-sign-on-leaving': of('POST /auth/single-sign-on'),
  'single-sign-on-code': of('GET /auth/single-sign-on/callback'),
  'single-sign-on-refused': of('GET /auth/single-sign-on/callback'),
  'single-sign-on-account': of('GET /account'),
} as const satisfies Record<string, ListedPage>;

/** Every page of the service, in all states that look different. */
export const PAGES = { ...PERSON, ...PASSKEYS, ...OPERATOR, ...VISITOR, ...SINGLE_SIGN_ON };

export type PageName = keyof typeof PAGES;
