import type { ComponentChildren, VNode } from 'preact';
import { Hidden } from '../layout/index.js';
import type { RejectedFactorChange } from './factors.js';
import type { RejectedEmailChange } from './email.js';
import type { RejectedPasswordChange } from './password.js';
import type { RejectedDeletion, RejectedName, RejectedPassword } from './profile-forms.js';
import type { RejectedToken } from './token-forms.js';
import type { RejectedWorkspaceDeletion, RejectedWorkspaceName } from './workspace-forms.js';

/** Messages shown once, on the page that answers a form. */
export interface FlashMessages {
  readonly alert?: string;
  /** The message after a completed action. */
  readonly notice?: string | undefined;
  readonly failedEmail?: RejectedEmailChange;
  readonly failedChange?: RejectedPasswordChange;
  /** The fault in the password of the form that unlocks the passkeys. */
  readonly failedConfirmation?: { readonly fault?: string | undefined };
  readonly failedFactor?: RejectedFactorChange;
  readonly minted?: { readonly name: string; readonly raw: string };
  readonly failedMint?: RejectedToken;
  readonly failedRename?: RejectedName;
  readonly failedExport?: RejectedPassword;
  readonly failedUnlinking?: RejectedPassword;
  readonly failedWorkspaceName?: RejectedWorkspaceName;
  readonly failedWorkspaceDeletion?: RejectedWorkspaceDeletion;
  readonly failedDeletion?: RejectedDeletion;
}

interface ActionFormProps {
  readonly action: string;
  readonly csrfToken: string;
  /** The id of the item that the form acts on. */
  readonly id?: string;
  readonly children: ComponentChildren;
}

/** A form that consists of a button. */
export function ActionForm({ action, csrfToken, id, children }: ActionFormProps): VNode {
  return (
    <form method="post" action={action} class="action">
      <Hidden fields={{ csrf_token: csrfToken, ...(id === undefined ? {} : { id }) }} />
      {children}
    </form>
  );
}
