import type { FailedMint } from './token-desk.js';

/** What has just happened, to be said once. */
export interface AccountNews {
  readonly alert?: string;
  readonly minted?: { readonly name: string; readonly raw: string };
  readonly failedMint?: FailedMint;
}
