import type { ComponentChildren, VNode } from 'preact';
import { Hidden } from '../pages/index.js';
import type { RejectedEmailChange } from './email-section.js';
import type { RejectedPasswordChange } from './password-form.js';
import type { RejectedToken } from './token-forms.js';

/** Messages shown once, on the page that answers a form. */
export interface FlashMessages {
  readonly alert?: string;
  /** What was done. */
  readonly notice?: string | undefined;
  readonly failedEmail?: RejectedEmailChange;
  readonly failedChange?: RejectedPasswordChange;
  readonly minted?: { readonly name: string; readonly raw: string };
  readonly failedMint?: RejectedToken;
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
