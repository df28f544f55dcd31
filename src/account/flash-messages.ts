import type { RejectedPasswordChange } from './password-form.js';
import type { RejectedToken } from './token-forms.js';

/** Messages that are shown once, on the page that answers a form. */
export interface FlashMessages {
  readonly alert?: string;
  /** Something that was done. */
  readonly notice?: string | undefined;
  readonly failedChange?: RejectedPasswordChange;
  readonly minted?: { readonly name: string; readonly raw: string };
  readonly failedMint?: RejectedToken;
}
