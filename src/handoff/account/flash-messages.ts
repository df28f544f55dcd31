import type { FailedMint } from './token-desk.js';

/** Messages that are shown once, on the page that answers a form. */
export interface FlashMessages {
  readonly alert?: string;
  readonly minted?: { readonly name: string; readonly raw: string };
  readonly failedMint?: FailedMint;
}
