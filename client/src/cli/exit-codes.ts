/** Exit codes, for scripts. docs/guide/sync-a-folder.md has the same table. */
export const EXIT = {
  /** Done; folder and server agree. */
  ok: 0,
  /** The command could not finish: no network, a full disk, a refusal by the service. */
  failed: 1,
  /** The command line or the settings of the folder are wrong. */
  usage: 2,
  /** Some files need attention; each is named. Everything else is done. */
  leftOver: 3,
  /** Many deletions, or another step that needs confirmation: on a terminal or by `--yes`. */
  confirmationNeeded: 4,
  /** Sign in again, or give the secret that opens the vault. */
  signInNeeded: 5,
  /** Another process works on this folder. */
  busy: 6,
  /** A second SIGINT or SIGTERM ended the process at once. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
