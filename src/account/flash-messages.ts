import type { FailedChange } from './password-desk.js';
import type { FailedMint } from './token-desk.js';

/** Messages that are shown once, on the page that answers a form. */
export interface FlashMessages {
  readonly alert?: string;
  /** Something that was done. */
  readonly notice?: string | undefined;
  readonly failedChange?: FailedChange;
  readonly minted?: { readonly name: string; readonly raw: string };
  readonly failedMint?: FailedMint;
}
