import type { BrowserSession } from '../../domain/auth/index.js';
import type { SingleSignOnOption } from '../layout/index.js';
import type { Overview } from './account-overview.js';
import type { ActivityPage } from './activity.js';
import type { FlashMessages } from './action-form.js';

/** The properties of every section of the account page. */
export interface AccountPageProps extends FlashMessages {
  readonly host: string;
  readonly csrfToken: string;
  readonly session: BrowserSession;
  /** Whether forms that need a recent sign-in must ask for the password. */
  readonly needsConfirmation: boolean;
  readonly overview: Overview;
  readonly activity: ActivityPage;
  /** Whether the service can send mail. */
  readonly canChangeEmail: boolean;
  readonly hasBilling: boolean;
  /** Whether accounts can have a password. */
  readonly hasPasswords: boolean;
  readonly singleSignOn: SingleSignOnOption | undefined;
}
